//! What a remote may ask for, and to whom it is shown: the configured origin, once.

use std::cell::Cell;
use std::path::PathBuf;

use git2::{Cred, CredentialType};

use super::address::{Address, AddressError, Scheme};
use crate::config::Secret;

/// What a token is accompanied by where no user is named; hosts of repositories ignore it.
const USER_OF_A_TOKEN: &str = "x-access-token";
/// Who logs in over SSH where nobody is named.
const USER_OF_SSH: &str = "git";

/// Of a caller or the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// A token in front of the `@` of an address is a secret too.
    pub user: Option<Secret>,
    /// Password or token.
    pub secret: Option<Secret>,
}

/// How to log in over SSH.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SshIdentity {
    /// The private key's file.
    pub key: Option<PathBuf>,
    /// The host keys that are trusted: `SHA256:` and base64 without padding, as `ssh-keyscan` and hosts print them.
    pub host_keys: Vec<String>,
}

impl Credentials {
    /// These, completed by a token that was given apart.
    #[must_use]
    pub fn with_token(mut self, token: Option<Secret>) -> Self {
        self.secret = token.or(self.secret);
        self
    }

    /// Whether there is anything to show.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.user.is_none() && self.secret.is_none()
    }
}

/// Answers one connection's questions for credentials.
pub(super) struct Wallet<'a> {
    /// Where we said we would go.
    origin: Address,
    credentials: &'a Credentials,
    ssh: &'a SshIdentity,
    n_shown: Cell<u32>,
    /// Set when the remote asked again, or asked for what there is not.
    pub(super) is_refused: Cell<bool>,
}

impl<'a> Wallet<'a> {
    /// For what is reached under this address.
    pub(super) fn new(
        url: &str,
        credentials: &'a Credentials,
        ssh: &'a SshIdentity,
    ) -> Result<Self, AddressError> {
        let (origin, _) = Address::parse(url)?;
        Ok(Self { origin, credentials, ssh, n_shown: Cell::new(0), is_refused: Cell::new(false) })
    }

    /// A second question means that the first answer was wrong: asking for ever helps nobody.
    pub(super) fn show(
        &self,
        url: &str,
        user: Option<&str>,
        allowed: CredentialType,
    ) -> Result<Cred, git2::Error> {
        let refuse = |why: &str| {
            self.is_refused.set(true);
            Err(git2::Error::from_str(why))
        };
        if allowed.contains(CredentialType::USERNAME) {
            return Cred::username(self.user_of_ssh());
        }
        if self.n_shown.replace(self.n_shown.get() + 1) > 0 {
            return refuse("the credentials were refused");
        }
        match self.origin.scheme {
            Scheme::Http | Scheme::Https if self.is_ours(url) && !self.credentials.is_empty() => {
                let (user, secret) = self.pair();
                Cred::userpass_plaintext(user, secret)
            }
            Scheme::Ssh if allowed.contains(CredentialType::SSH_KEY) => match &self.ssh.key {
                Some(key) => Cred::ssh_key(user.unwrap_or(self.user_of_ssh()), None, key, None),
                None => refuse("there is no key to log in with"),
            },
            _ => refuse("there are no credentials for this remote"),
        }
    }

    fn user_of_ssh(&self) -> &str {
        self.credentials.user.as_ref().map_or(USER_OF_SSH, Secret::expose)
    }

    /// User and password; a token alone may stand on either side of an address.
    fn pair(&self) -> (&str, &str) {
        match (&self.credentials.user, &self.credentials.secret) {
            (Some(user), Some(secret)) => (user.expose(), secret.expose()),
            (None, Some(token)) => (USER_OF_A_TOKEN, token.expose()),
            (Some(token), None) => (token.expose(), ""),
            (None, None) => ("", ""),
        }
    }

    /// Whether the question comes from where we asked.
    fn is_ours(&self, url: &str) -> bool {
        Address::parse(url).is_ok_and(|(asking, _)| asking.is_same_origin(&self.origin))
    }
}

impl SshIdentity {
    /// Whether this is the SHA-256 digest of a trusted host key.
    pub(super) fn trusts(&self, digest: &[u8; 32]) -> bool {
        let shown = format!("SHA256:{}", base64_of(digest));
        self.host_keys.contains(&shown)
    }
}

/// Without padding.
fn base64_of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..=three.len() {
            let digit = DIGITS.get((number >> (18 - 6 * place)) as usize & 63);
            text.extend(digit.copied().map(char::from));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_fingerprints() {
        for (text, expected) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64_of(text.as_bytes()), expected);
        }
    }
}
