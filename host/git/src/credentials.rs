//! Credentials for a remote. The relay sends them to the configured origin only.

use std::path::PathBuf;

use openssl::base64::encode_block;

use tollgate_model::secret::Secret;

/// User name sent with a token when no user is given; Git hosting services ignore it.
const USER_OF_A_TOKEN: &str = "x-access-token";
/// User name for SSH when no user is given.
const USER_OF_SSH: &str = "git";

/// Credentials from a caller or from the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// User name; secret, because an address may have a token before its `@`.
    pub user: Option<Secret>,
    /// Password or token.
    pub secret: Option<Secret>,
}

/// SSH key and trusted hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SshIdentity {
    /// File of the private key.
    pub key: Option<PathBuf>,
    /// Trusted host keys: `SHA256:` and base64 without padding, as printed by `ssh-keygen -l`.
    pub host_keys: Vec<String>,
}

impl Credentials {
    /// Returns these credentials with a separately given token, if any.
    #[must_use]
    pub fn with_token(mut self, token: Option<Secret>) -> Self {
        self.secret = token.or(self.secret);
        self
    }

    /// Returns whether there are no credentials.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.user.is_none() && self.secret.is_none()
    }

    /// Returns the HTTP `Authorization` value. A token alone may be the user or the password of an address.
    pub(super) fn authorization(&self) -> Option<Secret> {
        let (user, secret) = match (&self.user, &self.secret) {
            (Some(user), Some(secret)) => (user.expose(), secret.expose()),
            (None, Some(token)) => (USER_OF_A_TOKEN, token.expose()),
            (Some(token), None) => (token.expose(), ""),
            (None, None) => return None,
        };
        Some(Secret::new(format!("Basic {}", encode_block(format!("{user}:{secret}").as_bytes()))))
    }

    pub(super) fn user_of_ssh(&self) -> &str {
        self.user.as_ref().map_or(USER_OF_SSH, Secret::expose)
    }
}

/// Formats the digest of a host key like `ssh-keygen -l`.
pub(super) fn fingerprint(sha256: &[u8; 32]) -> String {
    format!("SHA256:{}", encode_block(sha256).trim_end_matches('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the header value for a user and a secret.
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
