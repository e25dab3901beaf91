//! Fetch and push: bounded, limited to one remote, run in a worker process.

use std::fs;
use std::io::Read as _;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::address::{RepositoryAddress, Scheme};
use super::branch::is_branch;
use super::credentials::{Credentials, SshIdentity};
use super::incoming::Incoming;
use super::local_clone::{CommitId, LocalClone};
use super::network::{Network, SystemNetwork};
use super::network_policy::NetworkPolicy;
use super::outgoing::OUTGOING;
use super::relay::{GitService, Relay, RelayCut, RelayRoute, RelayTransport};
use super::remote_failure::{RemoteFailure, RemoteKind, plain};
use super::worker::{Login, Task, TaskFailure, TaskOutcome, Worker, WorkerEnd, WorkerRequest};
use super::{GitError, TRANSFER_BYTES_MAX};

const KEY_BYTES_MAX: u64 = 16 * 1024;

/// A remote, and the means to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Address.
    pub address: RepositoryAddress,
    /// Credentials for the remote.
    pub credentials: Credentials,
    /// Key and trusted hosts for SSH.
    pub ssh: SshIdentity,
    /// Addresses that may be contacted.
    pub reach: NetworkPolicy,
}

/// Result of a fetch.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// Branch, also if none was requested.
    pub branch: String,
    /// Head of the branch.
    pub commit: CommitId,
}

impl Remote {
    /// Fetches a branch, or the default branch, and records its head. Rules and work tree stay unchanged.
    ///
    /// # Errors
    /// [`GitError::NoBranch`], [`GitError::NoOwnChoice`], [`GitError::Empty`], and every error of a transfer. The
    /// references of the clone are then unchanged.
    pub fn fetch(&self, clone: &LocalClone, branch: Option<&str>) -> Result<Fetched, GitError> {
        let reference = branch.map_or("HEAD".to_owned(), |branch| format!("refs/heads/{branch}"));
        let incoming = Incoming::new(clone)?;
        let done = self.run_task(clone.worker(), incoming.path(), Task::Fetch { reference });
        let done = done.map_err(|error| match error {
            GitError::NoBranch if branch.is_none() => GitError::NoOwnChoice,
            other => other,
        })?;
        let TaskOutcome::Fetched { branch: name, commit } = done else {
            return Err(GitError::Worker("its reply does not match the request".to_owned()));
        };
        // A remote may have taken over the worker, so its reply is validated.
        let is_asked_for = branch.is_none_or(|branch| branch == name) && is_branch(&name);
        let commit = CommitId::parse(&commit).filter(|_| is_asked_for).ok_or(GitError::NoBranch)?;
        incoming.take()?;
        clone.repository().find_commit(commit.0).map_err(|_| GitError::NoBranch)?;
        clone.set_reference(&format!("refs/remotes/origin/{name}"), commit)?;
        Ok(Fetched { branch: name, commit })
    }

    /// Pushes the prepared commit to a branch, without force.
    ///
    /// # Errors
    /// [`GitError::PushRefused`], and every error of a transfer.
    pub fn push(&self, clone: &LocalClone, commit: CommitId, branch: &str) -> Result<(), GitError> {
        clone.set_reference(OUTGOING, commit)?;
        let task = Task::Push { reference: OUTGOING.to_owned(), branch: branch.to_owned() };
        let incoming = Incoming::new(clone)?;
        match self.run_task(clone.worker(), incoming.path(), task)? {
            TaskOutcome::Pushed => Ok(()),
            _ => Err(GitError::Worker("its reply does not match the request".to_owned())),
        }
    }

    fn run_task(&self, worker: &Worker, git_directory: &Path, task: Task) -> Result<TaskOutcome, GitError> {
        let service = match task {
            Task::Fetch { .. } => GitService::Fetch,
            Task::Push { .. } => GitService::Push,
        };
        let relay = self.set_out(service, worker.time_max, Arc::new(SystemNetwork))?;
        let is_here = self.address.scheme == Scheme::File;
        let request = WorkerRequest {
            git_directory: git_directory.to_owned(),
            objects: git_directory.with_file_name("objects"),
            url: relay.as_ref().map_or_else(|| self.address.to_string(), Relay::url),
            port: relay.as_ref().map(Relay::port),
            neighbour: is_here.then(|| Path::new(&self.address.path).to_owned()),
            login: self.login()?,
            task,
            time_max_ms: u64::try_from(worker.time_max.as_millis()).unwrap_or(u64::MAX),
        };
        let done = worker.run(&request, |process| {
            if let Some(relay) = &relay {
                relay.admit(process);
            }
        });
        let remote = match (&relay, self.address.scheme) {
            (None, _) => RemoteKind::Local,
            (Some(_), Scheme::Ssh) => RemoteKind::Ssh,
            (Some(relay), _) => RemoteKind::Http(relay.http_answer()),
        };
        explained(done, relay.as_ref().and_then(Relay::cut), remote)
    }

    /// Resolves and checks the remote, and opens a relay to it; `None` for a local repository.
    fn set_out(
        &self,
        service: GitService,
        time_max: Duration,
        network: Arc<dyn Network>,
    ) -> Result<Option<Relay>, GitError> {
        let address = &self.address;
        let manner = match address.scheme {
            Scheme::Https => RelayTransport::Tls(address.host.clone()),
            Scheme::Http if !self.credentials.is_empty() && !is_of_this_machine(&address.host) => {
                return Err(GitError::NotAllowed(
                    "credentials are not sent over plain HTTP: use an https address",
                ));
            }
            Scheme::Http => RelayTransport::Plain,
            Scheme::Ssh => RelayTransport::Raw,
            Scheme::File => return self.reach.admit(address).map(|()| None),
        };
        let route = RelayRoute {
            manner,
            authority: address.authority(),
            path: address.path.clone(),
            service,
            authorization: self.credentials.authorization(),
            addresses: self.reach.resolve(address, &*network)?,
            network,
            bytes_max: TRANSFER_BYTES_MAX,
            time_max,
        };
        Relay::open(route).map(Some).map_err(|_| GitError::Unreachable)
    }

    /// Returns the login data that the worker needs.
    fn login(&self) -> Result<Login, GitError> {
        Ok(match self.address.scheme {
            Scheme::Ssh => Login::Ssh {
                user: self.credentials.user_of_ssh().to_owned(),
                key: self.ssh.key.as_deref().map(key_in).transpose()?,
                host_keys: self.ssh.host_keys.clone(),
            },
            Scheme::Http | Scheme::Https if !self.credentials.is_empty() => Login::ByRelay,
            _ => Login::Nothing,
        })
    }
}

/// Returns whether the host is this machine, so that no other can intercept the connection.
fn is_of_this_machine(host: &str) -> bool {
    let number = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    number.map_or(host == "localhost", |number| number.is_loopback())
}

fn key_in(path: &Path) -> Result<String, GitError> {
    let mut key = String::new();
    let file = fs::File::open(path).map_err(GitError::Key)?;
    file.take(KEY_BYTES_MAX).read_to_string(&mut key).map_err(GitError::Key)?;
    Ok(key)
}

/// Converts the end of a worker. The relay's reason takes precedence, because the worker only sees that its
/// connection closed.
fn explained(
    done: Result<TaskOutcome, WorkerEnd>,
    cut: Option<RelayCut>,
    remote: RemoteKind,
) -> Result<TaskOutcome, GitError> {
    let of_cut = |cut: RelayCut| match cut {
        RelayCut::Unreachable => GitError::Unreachable,
        RelayCut::TooSlow => GitError::TooSlow,
        RelayCut::TooLarge => GitError::TooLarge,
        RelayCut::Elsewhere => GitError::NotAllowed("it redirects to another address"),
        RelayCut::Untrusted => GitError::Untrusted,
        RelayCut::Refused => GitError::Refused,
    };
    let failure = match (done, cut) {
        (Ok(TaskOutcome::Failed(_)), Some(cut)) => return Err(of_cut(cut)),
        (Ok(TaskOutcome::Failed(failure)), None) => failure,
        (Ok(done), _) => return Ok(done),
        (Err(WorkerEnd::TooSlow), _) => return Err(GitError::TooSlow),
        (Err(WorkerEnd::OverLimit), _) => return Err(GitError::TooLarge),
        (Err(WorkerEnd::Other(how)), _) => return Err(GitError::Worker(how)),
    };
    let in_words = |words: &str| git2::Error::from_str(&plain(words));
    Err(match failure {
        TaskFailure::Empty => GitError::Empty,
        TaskFailure::NoBranch => GitError::NoBranch,
        TaskFailure::Refused => GitError::Refused,
        TaskFailure::Untrusted => GitError::Untrusted,
        TaskFailure::PushRefused => GitError::PushRefused,
        TaskFailure::TooLarge => GitError::TooLarge,
        TaskFailure::TooSlow => GitError::TooSlow,
        TaskFailure::Damaged(words) => GitError::Damaged(in_words(&words)),
        TaskFailure::Reported => GitError::Failed(RemoteFailure::Reported),
        TaskFailure::Other(words) => GitError::Failed(RemoteFailure::from_git(in_words(&words), remote)),
    })
}

#[cfg(test)]
mod tests;
