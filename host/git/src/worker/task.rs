//! Fetch and push with libgit2, within a confined worker.

use std::cell::Cell;
use std::fs;
use std::time::{Duration, Instant};

use git2::{
    AutotagOption, CertificateCheckStatus, Cred, CredentialType, FetchOptions, ObjectType, Oid, PushOptions,
    RemoteCallbacks, RemoteRedirect, Repository,
};

use super::message::{Login, Task, TaskFailure, TaskOutcome, WorkerRequest};
use crate::remote_failure::plain;
use crate::repository::open_repository;
use crate::{
    GitError, OBJECT_BYTES_MAX, TRANSFER_BYTES_MAX, TRANSFER_OBJECTS_MAX, UNPACKED_BYTES_MAX, credentials,
    tree,
};

/// Largest commit, in bytes. Walking the history reads every commit on the way.
const COMMIT_BYTES_MAX: u64 = 64 << 10;

pub(super) fn run_task(request: &WorkerRequest) -> Result<TaskOutcome, TaskFailure> {
    git2::opts::enable_caching(false);
    let repository =
        open_repository(&request.git_directory).map_err(|error| TaskFailure::Damaged(error.to_string()))?;
    let operation = GitOperation::new(request);
    match &request.task {
        Task::Fetch { reference } => operation.fetch(&repository, reference),
        Task::Push { reference, branch } => {
            operation.push(&repository, &format!("{reference}:refs/heads/{branch}"))
        }
    }
}

/// A running operation and its observations.
struct GitOperation<'r> {
    request: &'r WorkerRequest,
    deadline: Instant,
    n_questions: Cell<u32>,
    is_refused: Cell<bool>,
    is_untrusted: Cell<bool>,
    is_too_large: Cell<bool>,
    is_push_refused: Cell<bool>,
}

impl<'r> GitOperation<'r> {
    fn new(request: &'r WorkerRequest) -> Self {
        Self {
            request,
            deadline: Instant::now() + Duration::from_millis(request.time_max_ms),
            n_questions: Cell::new(0),
            is_refused: Cell::new(false),
            is_untrusted: Cell::new(false),
            is_too_large: Cell::new(false),
            is_push_refused: Cell::new(false),
        }
    }

    fn fetch(&self, repository: &Repository, reference: &str) -> Result<TaskOutcome, TaskFailure> {
        let explain = |error| self.explain(&error);
        let mut remote = repository.remote_anonymous(&self.request.url).map_err(explain)?;
        let mut options = FetchOptions::new();
        options
            .remote_callbacks(self.callbacks())
            .download_tags(AutotagOption::None)
            .update_fetchhead(false)
            .follow_redirects(RemoteRedirect::None);
        remote.download(&[reference], Some(&mut options)).map_err(explain)?;
        let heads = remote.list().map_err(explain)?;
        if heads.is_empty() {
            return Err(TaskFailure::Empty);
        }
        let head = heads.iter().find(|head| head.name() == reference).ok_or(TaskFailure::NoBranch)?;
        let name = head.symref_target().unwrap_or(head.name());
        let branch = name.strip_prefix("refs/heads/").ok_or(TaskFailure::NoBranch)?.to_owned();
        if self.is_change() {
            check_sizes(repository)?;
            check_commit(repository, head.oid())?;
        }
        Ok(TaskOutcome::Fetched { branch, commit: head.oid().to_string() })
    }

    /// Returns whether anything was received; assumes so if the folder cannot be read.
    fn is_change(&self) -> bool {
        let packs = fs::read_dir(self.request.git_directory.join("objects/pack"));
        packs.map_or(true, |mut packs| packs.next().is_some())
    }

    fn push(&self, repository: &Repository, refspec: &str) -> Result<TaskOutcome, TaskFailure> {
        let explain = |error| self.explain(&error);
        let mut remote = repository.remote_anonymous(&self.request.url).map_err(explain)?;
        let mut options = PushOptions::new();
        options
            .remote_callbacks(self.callbacks())
            .packbuilder_parallelism(1)
            .follow_redirects(RemoteRedirect::None);
        remote.push(&[refspec], Some(&mut options)).map_err(explain)?;
        if self.is_push_refused.get() { Err(TaskFailure::PushRefused) } else { Ok(TaskOutcome::Pushed) }
    }

    fn callbacks(&self) -> RemoteCallbacks<'_> {
        let mut callbacks = RemoteCallbacks::new();
        callbacks.credentials(|_, _, allowed| self.log_in(allowed));
        callbacks.transfer_progress(|progress| {
            let is_too_large = progress.total_objects() > TRANSFER_OBJECTS_MAX
                || progress.received_bytes() as u64 > TRANSFER_BYTES_MAX;
            if is_too_large {
                self.is_too_large.set(true);
            }
            !is_too_large && Instant::now() < self.deadline
        });
        callbacks.push_update_reference(|_, refusal| {
            if refusal.is_some() {
                self.is_push_refused.set(true);
            }
            Ok(())
        });
        callbacks.certificate_check(|certificate, _| {
            let Some(key) = certificate.as_hostkey() else {
                // The relay performs TLS and verifies certificates.
                return Ok(CertificateCheckStatus::CertificatePassthrough);
            };
            let is_trusted = key.hash_sha256().is_some_and(|digest| self.trusts(digest));
            if is_trusted {
                return Ok(CertificateCheckStatus::CertificateOk);
            }
            self.is_untrusted.set(true);
            Err(git2::Error::from_str("the host key is not among the trusted ones"))
        });
        callbacks
    }

    /// Returns the login. A repeated question means that it was wrong; retrying would not help.
    fn log_in(&self, allowed: CredentialType) -> Result<Cred, git2::Error> {
        let refuse = |why: &str| {
            self.is_refused.set(true);
            Err(git2::Error::from_str(why))
        };
        if let Login::Ssh { user, .. } = &self.request.login
            && allowed.contains(CredentialType::USERNAME)
        {
            return Cred::username(user);
        }
        if self.n_questions.replace(self.n_questions.get() + 1) > 0 {
            return refuse("the credentials were refused");
        }
        match &self.request.login {
            Login::ByRelay if allowed.contains(CredentialType::USER_PASS_PLAINTEXT) => {
                Cred::userpass_plaintext("by", "relay")
            }
            Login::Ssh { user, key: Some(key), .. } if allowed.contains(CredentialType::SSH_MEMORY) => {
                Cred::ssh_key_from_memory(user, None, key, None)
            }
            _ => refuse("there are no credentials for this remote"),
        }
    }

    /// Returns whether this is the SHA-256 digest of a trusted host key.
    fn trusts(&self, digest: &[u8; 32]) -> bool {
        let Login::Ssh { host_keys, .. } = &self.request.login else { return false };
        host_keys.contains(&credentials::fingerprint(digest))
    }

    /// Converts an error; recorded observations are more precise than libgit2.
    fn explain(&self, error: &git2::Error) -> TaskFailure {
        if self.is_untrusted.get() {
            TaskFailure::Untrusted
        } else if self.is_refused.get() {
            TaskFailure::Refused
        } else if self.is_too_large.get() {
            TaskFailure::TooLarge
        } else if Instant::now() >= self.deadline {
            TaskFailure::TooSlow
        } else {
            explain(error)
        }
    }
}

/// Converts an error of libgit2 for which no other reason was observed.
fn explain(error: &git2::Error) -> TaskFailure {
    use git2::{ErrorClass, ErrorCode};
    match (error.code(), error.class()) {
        (ErrorCode::Auth, _) => TaskFailure::Refused,
        (ErrorCode::NotFastForward, _) => TaskFailure::PushRefused,
        // Memory is limited, and the unpacked data needs more.
        (_, ErrorClass::NoMemory) => TaskFailure::TooLarge,
        // libgit2's own limit, far above ours.
        (_, ErrorClass::Invalid) if error.message().ends_with("overly large object") => TaskFailure::TooLarge,
        // The local objects are damaged; the remote is not the cause.
        (_, ErrorClass::Odb | ErrorClass::Zlib) => TaskFailure::Damaged(plain(error.message())),
        // A message of the remote may contain anything.
        (_, ErrorClass::Net) if error.message().contains("remote") => TaskFailure::Reported,
        _ => TaskFailure::Other(plain(error.message())),
    }
}

/// Checks all object sizes: a small pack may unpack to huge objects, and the service reads objects with libgit2, too.
fn check_sizes(repository: &Repository) -> Result<(), TaskFailure> {
    let odb = repository.odb().map_err(|error| explain(&error))?;
    let mut n_bytes = 0_u64;
    let mut failure = None;
    let walked = odb.foreach(|id| {
        match odb.read_header(*id) {
            Ok((bytes, kind)) => {
                n_bytes = n_bytes.saturating_add(bytes as u64);
                let bytes_max = if kind == ObjectType::Commit { COMMIT_BYTES_MAX } else { OBJECT_BYTES_MAX };
                if bytes as u64 > bytes_max || n_bytes > UNPACKED_BYTES_MAX {
                    failure = Some(TaskFailure::TooLarge);
                }
            }
            Err(error) => failure = Some(explain(&error)),
        }
        failure.is_none()
    });
    match (failure, walked) {
        (Some(failure), _) => Err(failure),
        (None, walked) => walked.map_err(|error| explain(&error)),
    }
}

/// Reads the commit like the service will, so that excessive memory or time ends the worker instead.
fn check_commit(repository: &Repository, commit: Oid) -> Result<(), TaskFailure> {
    // A branch must refer to a commit.
    repository.find_commit(commit).map_err(|_| TaskFailure::NoBranch)?;
    match tree::read(repository, commit) {
        Err(GitError::Damaged(error)) => Err(explain(&error)),
        // The service detects exceeded limits again, and reports them.
        _ => Ok(()),
    }
}
