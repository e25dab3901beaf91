//! Rules from a Git repository. Only this module uses libgit2.
//!
//! ```text
//!  address ─▶ network policy ─▶ relay: bounded, to checked addresses, with credentials
//!                                 ▲
//!  transfer: fetch, push ─starts─▶ worker, a separate process with libgit2 ─▶ incoming packs
//!                                                                                 │
//!  rule files of a commit, by object id ◀── tree ◀── local clone (`.git`) ◀───────┘
//!  work tree: plain files for status and push ◀── advance      outgoing ──▶ a commit of the changes
//! ```
//!
//! A repository is untrusted data. Nothing in it is run or followed: no hook, filter, submodule or link. No
//! configuration of the machine affects an operation, and libgit2 never touches the work tree. A confined process
//! parses and unpacks the data of a remote, and reads it once, before the service does. Everything here blocks; async
//! callers use a blocking thread.

mod address;
mod branch;
mod credentials;
mod followed;
mod incoming;
mod local_clone;
mod locks;
mod network;
mod network_policy;
mod outgoing;
mod own_files;
mod relay;
mod remote_failure;
mod renamed;
mod replaced;
mod repository;
mod rule_path;
mod transfer;
mod tree;
mod unpushed;
mod work_tree;
mod work_tree_edit;
mod worker;

use std::io;
use std::path::PathBuf;

pub use address::{RepositoryAddress, RepositoryAddressError, Scheme};
pub use branch::is_branch;
pub use credentials::{Credentials, SshIdentity};
pub use followed::FollowedRepository;
pub use local_clone::{Advance, CloneDirectory, CommitId, Distance, LocalClone};
pub use network_policy::NetworkPolicy;
pub use outgoing::{Author, CommitNote, Outgoing};
pub use remote_failure::RemoteFailure;
pub use transfer::{Fetched, Remote};
pub use tree::{CommittedFile, TreeFiles, UnfitReason};
pub use unpushed::UnpushedWork;
pub use work_tree::{Changes, WorkTree};
pub use work_tree_edit::{EditConflict, EditOutcome, OwnFileContent, WorkTreeEdit};
pub use worker::{WORKER_ARGUMENT, Worker, work};

/// Folder of the clones in the data directory.
pub const CLONES: &str = "git";
/// Largest transfer from a remote, in bytes.
pub(crate) const TRANSFER_BYTES_MAX: u64 = 256 << 20;
/// Maximum number of objects in one transfer.
pub(crate) const TRANSFER_OBJECTS_MAX: usize = 200_000;
/// Largest unpacked object of a repository, in bytes.
pub(crate) const OBJECT_BYTES_MAX: u64 = 32 << 20;
/// Total size of all unpacked objects of a repository, in bytes.
pub(crate) const UNPACKED_BYTES_MAX: u64 = 4 << 30;

/// Reason why an operation on a repository failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The text is not a valid address.
    #[error(transparent)]
    Address(#[from] RepositoryAddressError),
    /// The policy does not allow this remote.
    #[error("the remote is not allowed: {0}")]
    NotAllowed(&'static str),
    /// The branch name is invalid, or the remote has no such branch.
    #[error("the remote has no branch of this name")]
    NoBranch,
    /// The default branch of the remote does not exist.
    #[error("the default branch of the repository does not exist: its HEAD refers to a missing branch")]
    NoOwnChoice,
    /// The remote has no branch at all.
    #[error("the remote repository is empty")]
    Empty,
    /// The host name cannot be resolved.
    #[error(
        "the host name of the remote cannot be resolved; check it, and the DNS settings of this machine or container (`/etc/resolv.conf`)"
    )]
    Unresolved,
    /// The remote does not respond.
    #[error("the remote cannot be reached")]
    Unreachable,
    /// The certificate or host key of the remote is not trusted.
    #[error("the identity of the remote cannot be verified: its certificate or host key is not trusted")]
    Untrusted,
    /// Credentials are wrong or missing.
    #[error("the remote did not accept the credentials")]
    Refused,
    /// The private key for SSH cannot be read.
    #[error("the file named by WATCH_SCRIPT_GIT_SSH_KEY cannot be read")]
    Key(#[source] io::Error),
    /// The remote exceeded the timeout.
    #[error("the remote took longer than SERVICE_GIT_TIMEOUT")]
    TooSlow,
    /// Too many bytes or objects, packed or unpacked.
    #[error(
        "the remote sends more than {TRANSFER_BYTES_MAX} bytes or {TRANSFER_OBJECTS_MAX} objects, or objects that \
         unpack to more than {OBJECT_BYTES_MAX} bytes each or {UNPACKED_BYTES_MAX} bytes in total"
    )]
    TooLarge,
    /// The worker process ended without a reply; the text says how.
    #[error("the process that handles data from the remote failed: {0}")]
    Worker(String),
    /// The remote did not respond as a Git repository.
    #[error(transparent)]
    Failed(#[from] RemoteFailure),
    /// The remote refused a push.
    #[error("the remote refused the push")]
    PushRefused,
    /// A commit exceeds a limit on rule files.
    #[error("the commit exceeds a limit: {0}")]
    OverLimit(String),
    /// The local clone cannot be read.
    #[error("the local clone is damaged")]
    Damaged(#[source] git2::Error),
    /// A file or directory cannot be read or written; the source contains its path.
    #[error("a file of the local clone cannot be read or written")]
    Disk(#[source] io::Error),
}

impl GitError {
    /// Returns the code for the error object of the HTTP API.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Address(_) => "git_address_invalid",
            Self::NotAllowed(_) => "git_remote_not_allowed",
            Self::NoBranch | Self::NoOwnChoice | Self::Empty => "git_branch_not_found",
            Self::Unresolved | Self::Unreachable => "git_unreachable",
            Self::Refused | Self::Key(_) => "git_credentials_refused",
            Self::TooSlow => "git_timeout",
            Self::TooLarge => "git_transfer_too_large",
            Self::Worker(_) => "git_worker_failed",
            Self::Failed(_) | Self::Untrusted => "git_remote_failed",
            Self::PushRefused => "git_push_refused",
            Self::OverLimit(_) => "git_rules_over_limit",
            Self::Damaged(_) | Self::Disk(_) => "git_clone_unusable",
        }
    }

    /// Returns the error for a clone that disappeared during an operation.
    #[must_use]
    pub fn gone() -> Self {
        Self::Damaged(git2::Error::from_str("there is no clone"))
    }

    /// Returns a conversion for I/O errors at this path of the clone.
    fn disk(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::Disk(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }
}
