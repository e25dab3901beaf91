//! Fetch and push: bounded, to one origin, with credentials shown once.

use std::cell::Cell;
use std::time::{Duration, Instant};

use git2::{
    AutotagOption, CertificateCheckStatus, ErrorClass, ErrorCode, FetchOptions, PushOptions, RemoteCallbacks,
    RemoteRedirect,
};

use super::address::{Address, Scheme};
use super::credentials::{Credentials, SshIdentity, Wallet};
use super::local_clone::{CommitId, LocalClone};
use super::outgoing::OUTGOING;
use super::reach::Reach;
use super::relay::{Cut, Manner, Relay, Route};
use super::{GitError, TRANSFER_BYTES_MAX, TRANSFER_OBJECTS_MAX, TRANSFER_SECONDS_MAX};

/// A remote, and how it may be spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Where it is.
    pub address: Address,
    /// What it may be shown.
    pub credentials: Credentials,
    /// How to log in over SSH.
    pub ssh: SshIdentity,
    /// Where we may go.
    pub reach: Reach,
}

/// What a fetch found.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The branch, also where none was asked for.
    pub branch: String,
    /// Where it stands.
    pub commit: CommitId,
}

/// One operation on a remote, under way.
struct Errand<'r> {
    /// What libgit2 is told to speak to.
    url: String,
    relay: Option<Relay>,
    wallet: Wallet<'r>,
    ssh: &'r SshIdentity,
    deadline: Instant,
    is_too_large: Cell<bool>,
    is_push_refused: Cell<bool>,
}

impl Remote {
    /// Fetches a branch, or the remote's own choice, and remembers where it stands; rules and work tree stay as they are.
    ///
    /// # Errors
    /// [`GitError::NoBranch`], [`GitError::Empty`], and everything that can go wrong on the way.
    pub fn fetch(&self, clone: &LocalClone, branch: Option<&str>) -> Result<Fetched, GitError> {
        let errand = self.set_out()?;
        let repository = clone.repository();
        let mut remote = repository.remote_anonymous(&errand.url).map_err(GitError::Damaged)?;
        let wanted = branch.map_or("HEAD".to_owned(), |branch| format!("refs/heads/{branch}"));
        let mut options = FetchOptions::new();
        options
            .remote_callbacks(errand.callbacks())
            .download_tags(AutotagOption::None)
            .update_fetchhead(false)
            .follow_redirects(RemoteRedirect::None);
        remote.download(&[wanted.as_str()], Some(&mut options)).map_err(|error| errand.explain(error))?;
        let heads = remote.list().map_err(|error| errand.explain(error))?;
        if heads.is_empty() {
            return Err(GitError::Empty);
        }
        let head = heads.iter().find(|head| head.name() == wanted).ok_or(GitError::NoBranch)?;
        let name = head.symref_target().unwrap_or(head.name());
        let branch = name.strip_prefix("refs/heads/").ok_or(GitError::NoBranch)?.to_owned();
        let commit = CommitId(head.oid());
        // An object of another kind under a branch's name is no branch.
        repository.find_commit(commit.0).map_err(|_| GitError::NoBranch)?;
        clone.set_reference(&format!("refs/remotes/origin/{branch}"), commit)?;
        Ok(Fetched { branch, commit })
    }

    /// Pushes the commit that was prepared to a branch; never by force.
    ///
    /// # Errors
    /// [`GitError::PushRefused`], and everything that can go wrong on the way.
    pub fn push(&self, clone: &LocalClone, commit: CommitId, branch: &str) -> Result<(), GitError> {
        clone.set_reference(OUTGOING, commit)?;
        let errand = self.set_out()?;
        let mut remote = clone.repository().remote_anonymous(&errand.url).map_err(GitError::Damaged)?;
        let mut options = PushOptions::new();
        options
            .remote_callbacks(errand.callbacks())
            .packbuilder_parallelism(1)
            .follow_redirects(RemoteRedirect::None);
        let refspec = format!("{OUTGOING}:refs/heads/{branch}");
        remote.push(&[refspec], Some(&mut options)).map_err(|error| errand.explain(error))?;
        if errand.is_push_refused.get() { Err(GitError::PushRefused) } else { Ok(()) }
    }

    /// Resolves and judges the remote, and opens a relay to it.
    fn set_out(&self) -> Result<Errand<'_>, GitError> {
        let Self { address, credentials, ssh, reach } = self;
        let deadline = Instant::now() + Duration::from_secs(TRANSFER_SECONDS_MAX);
        let manner = match address.scheme {
            Scheme::Https => Some(Manner::Tls(address.host.clone())),
            Scheme::Http => Some(Manner::Plain),
            Scheme::Ssh => Some(Manner::Raw),
            Scheme::File => None,
        };
        reach.admit(address)?;
        let relay = match manner {
            None => None,
            Some(manner) => {
                let route = Route {
                    manner,
                    authority: address.authority(),
                    addresses: reach.resolve(address)?,
                    bytes_max: TRANSFER_BYTES_MAX,
                    time_max: Duration::from_secs(TRANSFER_SECONDS_MAX),
                };
                Some(Relay::open(route).map_err(|_| GitError::Unreachable)?)
            }
        };
        let url = match &relay {
            Some(relay) => {
                let scheme = if address.scheme == Scheme::Ssh { "ssh" } else { "http" };
                format!("{scheme}://127.0.0.1:{}{}", relay.port(), address.path)
            }
            None => address.to_string(),
        };
        Ok(Errand {
            wallet: Wallet::new(&url, credentials, ssh)?,
            url,
            relay,
            ssh,
            deadline,
            is_too_large: Cell::new(false),
            is_push_refused: Cell::new(false),
        })
    }
}

impl Errand<'_> {
    fn callbacks(&self) -> RemoteCallbacks<'_> {
        let mut callbacks = RemoteCallbacks::new();
        callbacks.credentials(|url, user, allowed| self.wallet.show(url, user, allowed));
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
                // TLS: as libgit2 found it.
                return Ok(CertificateCheckStatus::CertificatePassthrough);
            };
            let is_trusted = key.hash_sha256().is_some_and(|digest| self.ssh.trusts(digest));
            if is_trusted {
                return Ok(CertificateCheckStatus::CertificateOk);
            }
            self.wallet.is_refused.set(true);
            Err(git2::Error::from_str("the host key is not among the trusted ones"))
        });
        callbacks
    }

    /// What an error of libgit2 means.
    fn explain(&self, error: git2::Error) -> GitError {
        match self.relay.as_ref().and_then(Relay::cut) {
            Some(Cut::Unreachable) => return GitError::Unreachable,
            Some(Cut::TooSlow) => return GitError::TooSlow,
            Some(Cut::TooLarge) => return GitError::TooLarge,
            Some(Cut::Elsewhere) => return GitError::NotAllowed("it leads to another host"),
            Some(Cut::Untrusted) => return GitError::Untrusted,
            None => {}
        }
        if self.wallet.is_refused.get() || error.code() == ErrorCode::Auth {
            return GitError::Refused;
        }
        if self.is_too_large.get() {
            return GitError::TooLarge;
        }
        if Instant::now() >= self.deadline {
            return GitError::TooSlow;
        }
        match error.code() {
            ErrorCode::NotFastForward => GitError::PushRefused,
            // What was here is not what it was; the rest of the world has nothing to do with it.
            _ if matches!(error.class(), ErrorClass::Odb | ErrorClass::Zlib) => GitError::Damaged(error),
            // What a remote says in its own words may hold anything, the token it was shown among it.
            _ if error.class() == ErrorClass::Net && error.message().contains("remote") => GitError::Failed(
                git2::Error::new(error.code(), error.class(), "the remote reported an error"),
            ),
            _ => GitError::Failed(error),
        }
    }
}
