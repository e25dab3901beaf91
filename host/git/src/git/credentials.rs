//! What a remote may ask for; the relay shows it, to the configured origin, once.

use std::path::PathBuf;

use openssl::base64::encode_block;

use tollgate_model::secret::Secret;

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

    /// As a request over HTTP shows them; a token alone may stand on either side of an address.
    pub(super) fn authorization(&self) -> Option<Secret> {
        let (user, secret) = match (&self.user, &self.secret) {
            (Some(user), Some(secret)) => (user.expose(), secret.expose()),
            (None, Some(token)) => (USER_OF_A_TOKEN, token.expose()),
            (Some(token), None) => (token.expose(), ""),
            (None, None) => return None,
        };
        Some(Secret::new(format!("Basic {}", encode_block(format!("{user}:{secret}").as_bytes()))))
    }

    /// Who logs in over SSH.
    pub(super) fn user_of_ssh(&self) -> &str {
        self.user.as_ref().map_or(USER_OF_SSH, Secret::expose)
    }
}

/// The digest of a host key, as `ssh-keygen -l` prints it.
pub(super) fn fingerprint(sha256: &[u8; 32]) -> String {
    format!("SHA256:{}", encode_block(sha256).trim_end_matches('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// User, secret, and what goes over the wire.
    #[track_caller]
    fn check(user: Option<&str>, secret: Option<&str>, expected: Option<&str>) {
        let secret_of = |text: &str| Secret::new(text.to_owned());
        let credentials = Credentials { user: user.map(secret_of), secret: secret.map(secret_of) };
        let shown = credentials.authorization();
        assert_eq!(shown.as_ref().map(Secret::expose), expected);
    }

    #[test]
    fn a_token_may_stand_on_either_side() {
        check(None, None, None);
        check(Some("user"), Some("pass"), Some("Basic dXNlcjpwYXNz"));
        check(None, Some("token"), Some("Basic eC1hY2Nlc3MtdG9rZW46dG9rZW4="));
        check(Some("token"), None, Some("Basic dG9rZW46"));
        let long = "t".repeat(200);
        let expected = format!("Basic {}", encode_block(format!("x-access-token:{long}").as_bytes()));
        check(None, Some(&long), Some(&expected));
        assert!(!expected.contains('\n'));
    }

    #[test]
    fn a_fingerprint_looks_like_that_of_ssh() {
        assert_eq!(fingerprint(&[0; 32]), "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    }
}
