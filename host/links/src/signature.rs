//! Webhook signatures: proof of the sender and the time of a body.
//!
//! Two schemes, both HMAC-SHA256 over the bytes on the wire:
//!
//! ```text
//!  Standard Webhooks   webhook-id, webhook-timestamp, webhook-signature   v1,base64( id.timestamp.body )
//!  stamped             X-Blnk-Timestamp, X-Blnk-Signature                 hex( timestamp.body )
//! ```
//!
//! Signatures are compared as text in constant time. Each key has exactly one spelling of a signature, so every changed
//! bit is detected.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};

use tollgate_model::secret::Secret;

/// Maximum distance of a timestamp from the clock, in seconds, in either direction.
pub(crate) const TOLERANCE_SECONDS: i64 = 300;

const ENCODED_PREFIX: &str = "whsec_";
/// Prefix of signatures of the supported version.
const VERSION_PREFIX: &str = "v1,";
const TIMESTAMP_DIGITS_MAX: usize = 12;
const SIGNATURES_MAX: usize = 16;

/// The keys of one peer; several during a key rotation.
#[derive(Clone)]
pub struct SigningKeys {
    keys: Vec<Box<[u8]>>,
}

/// The signature headers of a request that follows Standard Webhooks.
#[derive(Debug, Clone, Copy)]
pub struct StandardHeaders<'a> {
    /// Id of the message, the same in every attempt.
    pub id: &'a str,
    /// Time of the attempt, in seconds since 1970 UTC.
    pub timestamp: &'a str,
    /// One or more signatures, separated by spaces.
    pub signatures: &'a str,
}

/// The signature headers of a request that signs only the time and the body.
#[derive(Debug, Clone, Copy)]
pub struct TimestampHeaders<'a> {
    /// Time in seconds since 1970 UTC.
    pub timestamp: &'a str,
    /// Signature in lower-case hexadecimal digits.
    pub signature: &'a str,
}

/// A reason why a signature is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The signature, or a header that belongs to it, is missing.
    #[error("the request is not signed")]
    Missing,
    /// No key produces this signature for the body.
    #[error("the signature does not match the request under any known key")]
    Invalid,
    /// The signature is correct, but its time is out of tolerance.
    #[error("the request was signed more than {TOLERANCE_SECONDS} seconds before or after now")]
    Expired,
}

impl SigningKeys {
    /// Reads keys separated by whitespace. A key is `whsec_` followed by base64, or any other text, whose bytes are the
    /// key. Returns `None` if there is no key, or if the text after `whsec_` is not base64.
    #[must_use]
    pub fn read(keys: &Secret) -> Option<Self> {
        let keys: Option<Vec<_>> = keys.expose().split_whitespace().map(key_of).collect();
        keys.filter(|keys| !keys.is_empty()).map(|keys| Self { keys })
    }

    /// Returns the signatures of a body under every key, separated by spaces. The id must not contain a dot, which
    /// would make the signed bytes ambiguous.
    #[must_use]
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let timestamp = timestamp.to_string();
        let signatures = self.keys.iter().map(|key| standard(key, id, &timestamp, body));
        signatures.collect::<Vec<_>>().join(" ")
    }

    /// Verifies a signature of Standard Webhooks. `now` is in seconds since 1970 UTC.
    ///
    /// # Errors
    /// [`SignatureError::Invalid`], or [`SignatureError::Expired`] for a correct signature out of tolerance.
    pub fn verify_standard(
        &self,
        said: StandardHeaders<'_>,
        body: &[u8],
        now: i64,
    ) -> Result<(), SignatureError> {
        if said.id.is_empty() || said.id.contains('.') {
            return Err(SignatureError::Invalid);
        }
        let time = seconds_of(said.timestamp)?;
        let offered: Vec<&str> = said.signatures.split(' ').take(SIGNATURES_MAX).collect();
        let mut is_right = Choice::from(0);
        for key in &self.keys {
            let expected = standard(key, said.id, said.timestamp, body);
            for offered in &offered {
                is_right |= expected.as_bytes().ct_eq(offered.as_bytes());
            }
        }
        judge(is_right, time, now)
    }

    /// Verifies a stamped signature. `now` is in seconds since 1970 UTC.
    ///
    /// # Errors
    /// [`SignatureError::Invalid`], or [`SignatureError::Expired`] for a correct signature out of tolerance.
    pub fn verify_stamped(
        &self,
        said: TimestampHeaders<'_>,
        body: &[u8],
        now: i64,
    ) -> Result<(), SignatureError> {
        let time = seconds_of(said.timestamp)?;
        let mut is_right = Choice::from(0);
        for key in &self.keys {
            let expected = hexadecimal(&code(key, &[said.timestamp.as_bytes(), b".", body]));
            is_right |= expected.as_bytes().ct_eq(said.signature.as_bytes());
        }
        judge(is_right, time, now)
    }
}

impl std::fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} keys", self.keys.len())
    }
}

fn key_of(text: &str) -> Option<Box<[u8]>> {
    match text.strip_prefix(ENCODED_PREFIX) {
        Some(encoded) => STANDARD.decode(encoded).ok().filter(|key| !key.is_empty()).map(Into::into),
        None => Some(text.as_bytes().into()),
    }
}

/// Checks the time last, so that a sender without the key learns nothing about our clock.
fn judge(is_right: Choice, time: i64, now: i64) -> Result<(), SignatureError> {
    if !bool::from(is_right) {
        return Err(SignatureError::Invalid);
    }
    if time.abs_diff(now) > TOLERANCE_SECONDS.unsigned_abs() {
        return Err(SignatureError::Expired);
    }
    Ok(())
}

fn seconds_of(timestamp: &str) -> Result<i64, SignatureError> {
    let is_number = timestamp.len() <= TIMESTAMP_DIGITS_MAX && timestamp.bytes().all(|b| b.is_ascii_digit());
    let seconds = is_number.then(|| timestamp.parse().ok()).flatten();
    seconds.ok_or(SignatureError::Invalid)
}

fn standard(key: &[u8], id: &str, timestamp: &str, body: &[u8]) -> String {
    let code = code(key, &[id.as_bytes(), b".", timestamp.as_bytes(), b".", body]);
    format!("{VERSION_PREFIX}{}", STANDARD.encode(code))
}

fn code(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC accepts a key of any length.
    let Ok(mut code) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| code.update(part));
    code.finalize().into_bytes().into()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
