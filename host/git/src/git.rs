//! Rules out of a Git repository: an edge, and the only room that names libgit2.
//!
//! ```text
//!  address ─▶ reach: may we go there? ─▶ relay: bounded, to checked addresses, with credentials
//!                                          ▲
//!  transfer: fetch, push ──starts──▶ worker, a process of its own: libgit2 ──▶ incoming packs
//!                                                                                │
//!  rule files of a commit, by object id ◀── tree ◀── local clone (`.git`) ◀──────┘
//!  work tree: plain files for status and push ◀── advance      outgoing ──▶ a commit of what changed
//! ```
//!
//! A repository is data of strangers. Nothing of it is run or followed: no hook, filter, submodule or link; no
//! configuration of the machine's is read into an operation; libgit2 never touches the work tree. What a remote sends is
//! parsed and unpacked in a process that may do nothing else, and read there once before anybody else reads it.
//! Everything here blocks; callers leave the async world.

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
mod renamed;
mod replaced;
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
pub use outgoing::{Author, Outgoing};
pub use transfer::{Fetched, Remote};
pub use tree::{CommittedFile, TreeFiles, UnfitReason};
pub use unpushed::UnpushedWork;
pub use work_tree::{Changes, WorkTree};
pub use work_tree_edit::{EditConflict, EditOutcome, OwnFileContent, WorkTreeEdit};
pub use worker::{WORKER_ARGUMENT, Worker, work};

/// Where clones are kept, in the data directory.
pub const CLONES: &str = "git";
/// Largest transfer from a remote, in bytes.
pub const TRANSFER_BYTES_MAX: u64 = 256 << 20;
/// Most objects in one transfer.
pub const TRANSFER_OBJECTS_MAX: usize = 200_000;
/// Largest object of a repository, whole, in bytes.
pub const OBJECT_BYTES_MAX: u64 = 32 << 20;
/// All objects of a repository together, whole, in bytes.
pub const UNPACKED_BYTES_MAX: u64 = 4 << 30;

/// Why an operation on a repository did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// A text that is no address.
    #[error(transparent)]
    Address(#[from] RepositoryAddressError),
    /// The remote may not be spoken to.
    #[error("the remote may not be used: {0}")]
    NotAllowed(&'static str),
    /// The branch is none, or not there.
    #[error("the remote has no branch of this name")]
    NoBranch,
    /// The remote's own choice is no branch of it.
    #[error("the repository's own choice of a branch is none that it has: its HEAD leads nowhere")]
    NoOwnChoice,
    /// The remote has no branch at all.
    #[error("the remote repository is empty")]
    Empty,
    /// Its name is known to nobody.
    #[error(
        "the name of the remote's host cannot be resolved; check it, and the DNS of this machine or container (`/etc/resolv.conf`)"
    )]
    Unresolved,
    /// Nobody answers.
    #[error("the remote cannot be reached")]
    Unreachable,
    /// Its certificate, or its host key, is not what it should be.
    #[error("the remote did not prove who it is: its certificate or host key is not trusted")]
    Untrusted,
    /// Wrong credentials, or none.
    #[error("the remote did not accept the credentials")]
    Refused,
    /// The private key for SSH is not to be had.
    #[error("the file of WATCH_SCRIPT_GIT_SSH_KEY cannot be read")]
    Key(#[source] io::Error),
    /// Not in time.
    #[error("the remote took longer than SERVICE_GIT_TIMEOUT")]
    TooSlow,
    /// Too many bytes or objects, packed or unpacked.
    #[error(
        "the remote sends more than {TRANSFER_BYTES_MAX} bytes or {TRANSFER_OBJECTS_MAX} objects, or what unpacks to \
         more than {OBJECT_BYTES_MAX} bytes in one object or {UNPACKED_BYTES_MAX} in all"
    )]
    TooLarge,
    /// The process that works on what the remote sends ended without a word; how, in words.
    #[error("the process that works on what the remote sends ended before its time: {0}")]
    Worker(String),
    /// The remote answered, and not as a repository does.
    #[error("the remote did not answer as a git repository does")]
    Failed(#[source] git2::Error),
    /// The remote refused a push.
    #[error("the remote refused the push")]
    PushRefused,
    /// A commit holds more rule files than the service takes.
    #[error("the commit holds too much: {0}")]
    OverLimit(String),
    /// The local clone cannot be read.
    #[error("the local clone is damaged")]
    Damaged(#[source] git2::Error),
    /// The disk does not do as it should; the source says where.
    #[error("a file of the local clone cannot be read or written")]
    Disk(#[source] io::Error),
}

impl GitError {
    /// As the error object of a request has it.
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

    /// The clone went away under our hands.
    #[must_use]
    pub fn gone() -> Self {
        Self::Damaged(git2::Error::from_str("there is no clone"))
    }

    /// For a file or directory of the clone.
    fn disk(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::Disk(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }
}
