//! Settings of the Git repository of the rules.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_git::is_branch;
use tollgate_model::secret::Secret;

use super::reader::{ConfigError, SettingsReader, Variable, variable};

/// The configured repository, and restrictions on remotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSettings {
    /// Address of the repository; it may contain credentials.
    pub repo: Option<Secret>,
    /// The followed branch; the remote's default branch if absent.
    pub branch: Option<String>,
    /// Access token for the repository.
    pub token: Option<Secret>,
    /// Interval between fetches.
    pub poll_interval: Duration,
    /// Time limit of one operation on a remote.
    pub timeout: Duration,
    /// File of an SSH private key.
    pub ssh_key: Option<PathBuf>,
    /// Trusted host keys, as `SHA256:…`.
    pub ssh_host_keys: Vec<String>,
    /// Author of commits: name and e-mail address.
    pub author: (String, String),
    /// Schemes allowed for remotes that are named over the API.
    pub schemes: Vec<String>,
    /// Hosts allowed for such remotes; empty for any.
    pub hosts: Vec<String>,
    /// Whether such remotes may have private addresses.
    pub allow_private: bool,
}

pub(super) const REPO: Variable = variable(
    "WATCH_SCRIPT_GIT_REPO",
    "an address such as https://host/path, git@host:path or /path",
    "none",
    "Git repository to follow for rules.",
)
.secret()
.explained_in("rules.md#rules-in-git");
pub(super) const BRANCH: Variable = variable(
    "WATCH_SCRIPT_GIT_BRANCH",
    "the name of a branch",
    "the default branch of the repository",
    "Branch whose rules are in force.",
);
pub(super) const TOKEN: Variable = variable(
    "WATCH_SCRIPT_GIT_TOKEN",
    "a token",
    "none",
    "Access token for WATCH_SCRIPT_GIT_REPO. It is kept in memory only.",
)
.secret();
pub(super) const POLL: Variable = variable(
    "WATCH_SCRIPT_GIT_POLL_INTERVAL",
    "a time such as 500ms, 30s or 5m, from 100ms to 1d",
    "30s",
    "Time between two polls of the repository.",
);
pub(super) const TIMEOUT: Variable = variable(
    "SERVICE_GIT_TIMEOUT",
    "a time such as 30s or 5m, from 1s to 10m",
    "60s",
    "Time limit of one operation on a repository.",
);
pub(super) const SSH_KEY: Variable =
    variable("WATCH_SCRIPT_GIT_SSH_KEY", "a file", "none", "Private key for repositories over SSH.");
pub(super) const SSH_HOST_KEYS: Variable = variable(
    "WATCH_SCRIPT_GIT_SSH_HOST_KEYS",
    "fingerprints such as SHA256:…, separated by commas",
    "none",
    "Trusted SSH host keys; all others are refused.",
);
pub(super) const AUTHOR: Variable = variable(
    "SERVICE_GIT_AUTHOR",
    "a name and an address such as Desk <desk@bank.example>",
    "Tollgate <tollgate@localhost>",
    "Author of the commits that the service makes.",
);
pub(super) const SCHEMES: Variable = variable(
    "SERVICE_GIT_ALLOW_SCHEMES",
    "some of https, http, ssh and file, separated by commas",
    "https",
    "Address schemes allowed for repositories that are named over the API. `file` allows paths of this machine.",
);
pub(super) const HOSTS: Variable = variable(
    "SERVICE_GIT_ALLOW_HOSTS",
    "host names, separated by commas",
    "the host of WATCH_SCRIPT_GIT_REPO, if set; otherwise any",
    "Hosts allowed for repositories that are named over the API.",
);
pub(super) const PRIVATE: Variable = variable(
    "SERVICE_GIT_ALLOW_PRIVATE",
    "`true` or `false`",
    "false",
    "Whether these hosts may have private addresses: loopback, link-local, or of a local network.",
);

const POLL_RANGE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(24 * 60 * 60);
const TIMEOUT_RANGE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(10 * 60);

impl GitSettings {
    pub(super) fn read<E: Fn(&'static str) -> Result<Option<String>, ConfigError>>(
        read: &SettingsReader<E>,
    ) -> Result<Self, ConfigError> {
        let default = Self::default();
        Ok(Self {
            repo: read.secret(REPO)?,
            branch: read.parsed_by(BRANCH, branch_of)?,
            token: read.secret(TOKEN)?,
            poll_interval: read.time(POLL, POLL_RANGE)?,
            timeout: read.time(TIMEOUT, TIMEOUT_RANGE)?,
            ssh_key: read.text(SSH_KEY)?.map(PathBuf::from),
            ssh_host_keys: read.parsed_by(SSH_HOST_KEYS, host_keys_of)?.unwrap_or_default(),
            author: read.parsed_by(AUTHOR, author_of)?.unwrap_or(default.author),
            schemes: read.parsed_by(SCHEMES, schemes_of)?.unwrap_or(default.schemes),
            hosts: read.names(HOSTS)?,
            allow_private: read.parsed(PRIVATE)?.unwrap_or(default.allow_private),
        })
    }
}

impl Default for GitSettings {
    fn default() -> Self {
        Self {
            repo: None,
            branch: None,
            token: None,
            poll_interval: Duration::from_secs(30),
            timeout: Duration::from_secs(60),
            ssh_key: None,
            ssh_host_keys: Vec::new(),
            author: ("Tollgate".to_owned(), "tollgate@localhost".to_owned()),
            schemes: vec!["https".to_owned()],
            hosts: Vec::new(),
            allow_private: false,
        }
    }
}

fn branch_of(text: &str) -> Option<String> {
    is_branch(text).then(|| text.to_owned())
}

fn parts_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn host_keys_of(text: &str) -> Option<Vec<String>> {
    let is_key = |key: &String| key.starts_with("SHA256:") && key.len() == 50;
    let keys: Vec<String> = parts_of(text).map(|key| key.trim_end_matches('=').to_owned()).collect();
    keys.iter().all(is_key).then_some(keys)
}

fn author_of(text: &str) -> Option<(String, String)> {
    let (name, email) = text.strip_suffix('>')?.split_once('<')?;
    let is_odd = |part: &str| part.is_empty() || part.contains(['<', '>']) || part.contains(char::is_control);
    let (name, email) = (name.trim(), email.trim());
    (!is_odd(name) && !is_odd(email)).then(|| (name.to_owned(), email.to_owned()))
}

/// An empty value counts as unset.
fn schemes_of(text: &str) -> Option<Vec<String>> {
    let is_known = |scheme: &String| ["https", "http", "ssh", "file"].contains(&scheme.as_str());
    let schemes: Vec<String> = parts_of(text).map(str::to_ascii_lowercase).collect();
    let schemes = if schemes.is_empty() { GitSettings::default().schemes } else { schemes };
    schemes.iter().all(is_known).then_some(schemes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn settings(name: &'static str, value: &'static str) -> Result<GitSettings, ConfigError> {
        Settings::read(|asked| Ok((asked == name).then(|| value.to_owned()))).map(|settings| settings.git)
    }

    #[track_caller]
    fn refused(name: &'static str, value: &'static str) {
        let error = settings(name, value).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("it takes "), "{error}");
    }

    #[test]
    fn without_any_variable_the_defaults_hold() {
        assert_eq!(settings("NOTHING", "").unwrap(), GitSettings::default());
    }

    #[test]
    fn a_value_that_does_not_do_is_refused() {
        for interval in ["", "soon", "0", "99ms", "2d", "-1s", "1.5s", "30 sec"] {
            refused("WATCH_SCRIPT_GIT_POLL_INTERVAL", interval);
        }
        for branch in ["", "-x", "a b", "a..b", "a/", "a.lock", "HEAD", "a~1", "refs:x", "a\nb"] {
            refused("WATCH_SCRIPT_GIT_BRANCH", branch);
        }
        for author in ["", "Desk", "Desk <>", "<a@b>", "Desk <a@b> x", "A\nB <a@b>"] {
            refused("SERVICE_GIT_AUTHOR", author);
        }
        refused("SERVICE_GIT_ALLOW_SCHEMES", "https,git");
        refused("SERVICE_GIT_ALLOW_PRIVATE", "yes");
        refused("WATCH_SCRIPT_GIT_SSH_HOST_KEYS", "MD5:abc");
    }

    #[test]
    fn times_carry_their_unit_or_are_seconds() {
        for (text, milliseconds) in [("500ms", 500), ("30", 30_000), ("2 m", 120_000), ("1d", 86_400_000)] {
            let interval = settings("WATCH_SCRIPT_GIT_POLL_INTERVAL", text).unwrap().poll_interval;
            assert_eq!(interval, Duration::from_millis(milliseconds));
        }
    }

    #[test]
    fn a_secret_is_not_shown_when_it_is_refused() {
        let error = settings("WATCH_SCRIPT_GIT_TOKEN", "canary\u{7}").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"));
        let settings = settings("WATCH_SCRIPT_GIT_REPO", "https://canary@host/a").unwrap();
        assert!(!format!("{settings:?}").contains("canary"));
    }
}
