//! Messages between service and worker: a request and a reply, each one line of JSON.
//!
//! A remote may have taken over the worker, so the service verifies everything in a reply.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use tollgate_process::Confinement;

/// A request to a worker. It may contain a private key, so it has no `Debug`.
#[derive(Serialize, Deserialize)]
pub(crate) struct WorkerRequest {
    /// Repository for the task, absolute. The worker may write no other path, except a local remote that it pushes to.
    pub(crate) git_directory: PathBuf,
    /// Objects of the clone, read-only.
    pub(crate) objects: PathBuf,
    /// URL of the remote: the relay, or a path of this machine.
    pub(crate) url: String,
    /// Port of the relay; no other connection is allowed.
    pub(crate) port: Option<u16>,
    /// Path of a local remote; no other repository is opened.
    pub(crate) neighbour: Option<PathBuf>,
    pub(crate) login: Login,
    pub(crate) task: Task,
    /// Time limit for the task, in milliseconds.
    pub(crate) time_max_ms: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Login {
    Nothing,
    /// The relay adds the credentials itself.
    ByRelay,
    /// A private key, for hosts with these keys.
    Ssh {
        user: String,
        /// Text of the key file; `None` if none is configured.
        key: Option<String>,
        /// `SHA256:` and base64 without padding.
        host_keys: Vec<String>,
    },
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Task {
    /// Fetch the target of a remote reference.
    Fetch { reference: String },
    /// Push a local reference to a remote branch, without force.
    Push { reference: String, branch: String },
}

/// Reply of a worker.
#[derive(Serialize, Deserialize)]
pub(super) struct WorkerReply {
    pub(super) walls: Confinement,
    pub(super) outcome: TaskOutcome,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum TaskOutcome {
    /// The branch and its head, whose objects were fetched.
    Fetched { branch: String, commit: String },
    /// The remote accepted the push.
    Pushed,
    /// The task failed.
    Failed(TaskFailure),
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TaskFailure {
    Empty,
    NoBranch,
    Refused,
    Untrusted,
    PushRefused,
    TooLarge,
    TooSlow,
    /// The remote sent an error packet.
    Reported,
    /// The clone is damaged; message of libgit2.
    Damaged(String),
    /// Another error; message of libgit2.
    Other(String),
}
