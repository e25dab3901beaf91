//! Webhook signatures computed with an independent library.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use openssl::base64::{decode_block, encode_block};
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;

/// Returns the `webhook-signature` of Standard Webhooks for a secret that begins with `whsec_`.
///
/// # Panics
/// Panics if the secret is not base64.
#[must_use]
pub fn standard(secret: &str, id: &str, timestamp: &str, body: &[u8]) -> String {
    let key = decode_block(secret.trim_start_matches("whsec_")).expect("a secret is base64");
    let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat();
    format!("v1,{}", encode_block(&hmac(&key, &signed)))
}

/// Returns the HMAC-SHA256 of `timestamp.body` in hexadecimal, with the bytes of the secret as key.
#[must_use]
pub fn stamped(secret: &str, timestamp: &str, body: &[u8]) -> String {
    let signed = [timestamp.as_bytes(), b".", body].concat();
    hmac(secret.as_bytes(), &signed).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hmac(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let key = PKey::hmac(key).expect("any bytes are a key");
    let mut signer = Signer::new(MessageDigest::sha256(), &key).expect("the digest is known");
    signer.sign_oneshot_to_vec(bytes).expect("bytes can be signed")
}
