//! What the service and a worker say to each other: a request and a reply, each one line of JSON.
//!
//! The reply comes from a process that a stranger may have taken over: it is believed in nothing that is not looked up.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::confinement::Confinement;

/// What a worker is to do. Holds a private key where one is needed: it is never shown.
#[derive(Serialize, Deserialize)]
pub(in crate::git) struct WorkerRequest {
    /// The repository it works in, absolute: the one place it may write.
    pub(in crate::git) git_directory: PathBuf,
    /// What is there already, to be read.
    pub(in crate::git) objects: PathBuf,
    /// Where the remote seems to be: the relay, or a path of this machine.
    pub(in crate::git) url: String,
    /// The port of the relay; nothing else is connected to.
    pub(in crate::git) port: Option<u16>,
    /// A repository on this machine; nothing else is opened.
    pub(in crate::git) neighbour: Option<PathBuf>,
    /// What it may answer who asks for credentials.
    pub(in crate::git) login: Login,
    pub(in crate::git) task: Task,
    /// For everything, in milliseconds.
    pub(in crate::git) time_max_ms: u64,
}

/// What there is to log in with.
#[derive(Serialize, Deserialize)]
pub(in crate::git) enum Login {
    /// Nothing.
    Nothing,
    /// The relay knows the credentials, and shows them in the worker's place.
    ByRelay,
    /// A key, for hosts with these keys.
    Ssh {
        user: String,
        /// As the file has it; `None` where none is configured.
        key: Option<String>,
        /// `SHA256:` and base64 without padding.
        host_keys: Vec<String>,
    },
}

/// The one thing to do.
#[derive(Serialize, Deserialize)]
pub(in crate::git) enum Task {
    /// Fetch what a reference of the remote leads to.
    Fetch { reference: String },
    /// Set a branch of the remote to where a reference of ours leads, not by force.
    Push { reference: String, branch: String },
}

/// The worker's only word.
#[derive(Serialize, Deserialize)]
pub(super) struct WorkerReply {
    pub(super) walls: Confinement,
    pub(super) outcome: TaskOutcome,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::git) enum TaskOutcome {
    /// What was asked for lies in the clone: the branch, and where it stands.
    Fetched { branch: String, commit: String },
    /// The remote has taken it.
    Pushed,
    /// It did not come about.
    Failed(TaskFailure),
}

/// Why it did not.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::git) enum TaskFailure {
    Empty,
    NoBranch,
    Refused,
    /// The host key is not among the trusted ones.
    Untrusted,
    PushRefused,
    TooLarge,
    TooSlow,
    /// The clone, not the remote, is at fault; in libgit2's words.
    Damaged(String),
    /// In libgit2's words.
    Other(String),
}
