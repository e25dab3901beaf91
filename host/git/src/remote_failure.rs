//! The ways in which a remote fails to respond as a Git repository.

/// A response, or the lack of one, that is not that of a Git repository. Each has its own sentence, because each has
/// another remedy. None quotes the remote.
#[derive(Debug, thiserror::Error)]
pub enum RemoteFailure {
    /// HTTP status 404 or 410.
    #[error(
        "the remote has no repository at this path (HTTP status {0}); check the address. Some hosts answer so for a private \
         repository as well, if the credentials are missing or may not read it"
    )]
    NoRepository(u16),
    /// A path of this machine without a repository.
    #[error("there is no Git repository at this path of this machine, or the service may not read it")]
    NoLocalRepository,
    /// HTTP status 403.
    #[error(
        "the remote forbids access to the repository (HTTP status 403); check whether the credentials may read it, and push to \
         it"
    )]
    Forbidden,
    /// Another HTTP status that is not a success.
    #[error("the remote answered HTTP status {0}; if it persists, ask the operator of the remote")]
    Status(u16),
    /// A successful response of another content type.
    #[error(
        "the remote answered with something other than Git data, such as a web page; check the address of the repository"
    )]
    NotGit,
    /// The end of the connection before the end of the response.
    #[error(
        "the remote closed the connection before its answer was complete; if it persists, check the remote and proxies before it"
    )]
    Closed,
    /// An error packet of the remote.
    #[error(
        "the remote reported an error of its own; check that the repository exists, and the log of the remote"
    )]
    Reported,
    /// Git data that is invalid.
    #[error(
        "the remote sent invalid Git data; check the repository with `git fsck`. The log has the message of the Git library"
    )]
    Invalid(#[source] git2::Error),
}

/// The last response of a remote over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HttpAnswer {
    /// `None` if the connection ended without a response.
    pub(super) status: Option<u16>,
    /// Whether its content type is one of Git's.
    pub(super) is_git: bool,
}

/// The remote whose response is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemoteKind {
    /// A path of this machine.
    Local,
    /// A host over HTTP, with its last response.
    Http(HttpAnswer),
    /// A host over SSH.
    Ssh,
}

impl RemoteFailure {
    /// Returns the failure behind a message of libgit2. The response that the relay saw takes precedence.
    pub(super) fn from_git(error: git2::Error, remote: RemoteKind) -> Self {
        match remote {
            RemoteKind::Local => Self::NoLocalRepository,
            RemoteKind::Http(HttpAnswer { status: None, .. }) => Self::Closed,
            RemoteKind::Http(HttpAnswer { status: Some(status @ (404 | 410)), .. }) => {
                Self::NoRepository(status)
            }
            RemoteKind::Http(HttpAnswer { status: Some(403), .. }) => Self::Forbidden,
            RemoteKind::Http(HttpAnswer { status: Some(status), .. }) if !(200..300).contains(&status) => {
                Self::Status(status)
            }
            RemoteKind::Http(HttpAnswer { is_git: false, .. }) => Self::NotGit,
            RemoteKind::Http(_) | RemoteKind::Ssh => Self::of_data(error),
        }
    }

    fn of_data(error: git2::Error) -> Self {
        let words = error.message().to_ascii_lowercase();
        let is_cut = ["eof", "closed", "unexpected end", "early end"].iter().any(|end| words.contains(end));
        if is_cut { Self::Closed } else { Self::Invalid(error) }
    }
}

/// Makes text from a remote safe for terminals and logs: short, printable ASCII only.
pub(super) fn plain(words: &str) -> String {
    const CHARACTERS_MAX: usize = 200;
    let is_plain = |character: &char| matches!(character, ' '..='~');
    words
        .chars()
        .map(|character| if is_plain(&character) { character } else { '?' })
        .take(CHARACTERS_MAX)
        .collect()
}
