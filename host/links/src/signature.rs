//! Signatures of webhooks: who sent a body, and when.
//!
//! Two schemes, both HMAC-SHA256 over bytes as they are on the wire:
//!
//! ```text
//!  Standard Webhooks   webhook-id, webhook-timestamp, webhook-signature   v1,base64( id.timestamp.body )
//!  stamped             X-Blnk-Timestamp, X-Blnk-Signature                 hex( timestamp.body )
//! ```
//!
//! A signature is compared as text, in constant time: each key has exactly one spelling of it, so no bit can be changed
//! without being noticed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};

use tollgate_model::secret::Secret;

/// How far a timestamp may be from the clock, in seconds, before and behind it.
pub const TOLERANCE_SECONDS: i64 = 300;

/// What keys written in base64 begin with.
const ENCODED_PREFIX: &str = "whsec_";
/// What signatures of the scheme that is spoken here begin with.
const VERSION_PREFIX: &str = "v1,";
/// Longest timestamp, in digits: no clock has more seconds.
const TIMESTAMP_DIGITS_MAX: usize = 12;
/// Most signatures of one request that are looked at.
const SIGNATURES_MAX: usize = 16;

/// The keys of one peer: while they are changed there are several.
#[derive(Clone)]
pub struct SigningKeys {
    keys: Vec<Box<[u8]>>,
}

/// What a sender says beside a body, in the manner of Standard Webhooks.
#[derive(Debug, Clone, Copy)]
pub struct StandardHeaders<'a> {
    /// Of the message, the same at every attempt.
    pub id: &'a str,
    /// Of the attempt, in seconds since 1970 UTC.
    pub timestamp: &'a str,
    /// One or several, separated by blanks.
    pub signatures: &'a str,
}

/// What a sender says beside a body when it signs the time and the body.
#[derive(Debug, Clone, Copy)]
pub struct TimestampHeaders<'a> {
    /// In seconds since 1970 UTC.
    pub timestamp: &'a str,
    /// In lower-case hexadecimal digits.
    pub signature: &'a str,
}

/// Why a body is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// There is none, or something that belongs to it is missing.
    #[error("the request is not signed")]
    Missing,
    /// No key gives it for this body.
    #[error("the signature is not one of this request under a key that is known here")]
    Invalid,
    /// It is right, and was made at another time.
    #[error("the request was signed more than {TOLERANCE_SECONDS} seconds before or after now")]
    Expired,
}

impl SigningKeys {
    /// Reads keys separated by blanks: `whsec_` and base64, or any other text, whose bytes are the key. `None` when there
    /// is none, or one that begins with `whsec_` is not base64.
    #[must_use]
    pub fn read(keys: &Secret) -> Option<Self> {
        let keys: Option<Vec<_>> = keys.expose().split_whitespace().map(key_of).collect();
        keys.filter(|keys| !keys.is_empty()).map(|keys| Self { keys })
    }

    /// The signatures of a body under every key, separated by blanks. The id has no dot: it would make another body of
    /// the same bytes.
    #[must_use]
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let timestamp = timestamp.to_string();
        let signatures = self.keys.iter().map(|key| standard(key, id, &timestamp, body));
        signatures.collect::<Vec<_>>().join(" ")
    }

    /// Whether a body is what it is said to be; `now` in seconds since 1970 UTC.
    ///
    /// # Errors
    /// [`SignatureError::Invalid`], or [`SignatureError::Expired`] for one that is right.
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

    /// Whether a body is what it is said to be; `now` in seconds since 1970 UTC.
    ///
    /// # Errors
    /// [`SignatureError::Invalid`], or [`SignatureError::Expired`] for one that is right.
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

/// The time is looked at last: who does not know the key learns nothing of our clock.
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
    // A key of any length will do.
    let Ok(mut code) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| code.update(part));
    code.finalize().into_bytes().into()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
