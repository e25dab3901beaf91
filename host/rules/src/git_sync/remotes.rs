//! The repository to follow: the configured one, or one named over the API.

use tollgate_git::is_branch;
use tollgate_git::{
    Credentials, FollowedRepository, LocalClone, NetworkPolicy, Remote, RepositoryAddress, Scheme,
    SshIdentity,
};

use crate::git_sync::{CloneRequest, GitSyncError, GitSyncInner};

#[derive(Debug, Clone)]
pub(super) struct Configured {
    pub(super) remote: Remote,
    /// Named branch; `None` for the default branch.
    pub(super) branch: Option<String>,
}

impl Configured {
    /// Returns whether a clone is of this repository and branch.
    pub(super) fn is_of(&self, clone: &LocalClone) -> bool {
        let is_branch = self.branch.is_none() || self.branch == clone.branch();
        clone.address().as_ref() == Some(&self.remote.address) && is_branch
    }
}

impl GitSyncInner {
    /// Returns the repository named by the environment.
    pub(super) fn configured(&self) -> Result<Option<Configured>, GitSyncError> {
        let settings = &self.deps.settings;
        let Some(repo) = &settings.repo else { return Ok(None) };
        let (address, credentials) = RepositoryAddress::parse(repo.expose())?;
        let credentials = credentials.with_token(settings.token.clone());
        let remote = Remote { address, credentials, ssh: self.ssh(), reach: NetworkPolicy::anywhere() };
        Ok(Some(Configured { remote, branch: settings.branch.clone() }))
    }

    /// Returns the repository named by a request. The configured credentials apply only to the configured repository,
    /// because its host may have others that the caller must not read.
    pub(super) fn configured_by(&self, request: &CloneRequest) -> Result<Configured, GitSyncError> {
        let (address, credentials) = RepositoryAddress::parse(request.url.expose())?;
        if request.branch.as_ref().is_some_and(|branch| !is_branch(branch)) {
            return Err(GitSyncError::Branch);
        }
        let mut remote = self.named_over_the_api(address, credentials.with_token(request.token.clone()))?;
        let by_environment = self.configured()?.filter(|known| known.remote.address == remote.address);
        if let Some(known) = by_environment
            && remote.credentials.is_empty()
        {
            remote.credentials = known.remote.credentials;
        }
        remote.reach.admit(&remote.address)?;
        let branch = request.branch.clone().or_else(|| self.deps.settings.branch.clone());
        Ok(Configured { remote, branch })
    }

    /// Returns the repository of an earlier run's clone; its credentials were not stored.
    pub(super) fn configured_by_clone(&self, clone: &LocalClone) -> Option<Configured> {
        let remote = self.named_over_the_api(clone.address()?, Credentials::default()).ok()?;
        let branch = clone.branch();
        let own_choice = self.remembered().filter(|known| known.is_named == Some(false));
        let is_own_choice = own_choice.is_some_and(|known| Some(known.branch) == branch);
        Some(Configured { remote, branch: branch.filter(|_| !is_own_choice) })
    }

    /// Returns the repository followed last, for use without a clone.
    pub(super) fn configured_by_memory(&self) -> Option<Configured> {
        let FollowedRepository { address, branch, is_named } = self.remembered()?;
        let remote = self.named_over_the_api(address, Credentials::default()).ok()?;
        // Records of earlier versions do not say whether the branch was named; assume that it was.
        Some(Configured { remote, branch: (is_named != Some(false)).then_some(branch) })
    }

    fn named_over_the_api(
        &self,
        address: RepositoryAddress,
        credentials: Credentials,
    ) -> Result<Remote, GitSyncError> {
        let configured = self.configured()?;
        let is_the_configured = configured.as_ref().is_some_and(|known| known.remote.address == address);
        let reach =
            if is_the_configured { NetworkPolicy::anywhere() } else { self.reach(configured.as_ref()) };
        Ok(Remote { address, credentials, ssh: self.ssh(), reach })
    }

    /// Returns the policy for repositories named over the API: by default only the host of the configured repository.
    fn reach(&self, configured: Option<&Configured>) -> NetworkPolicy {
        let settings = &self.deps.settings;
        let known = [Scheme::Https, Scheme::Http, Scheme::Ssh, Scheme::File];
        let is_allowed = |scheme: &Scheme| settings.schemes.iter().any(|name| name == scheme.as_str());
        let hosts = match (settings.hosts.is_empty(), configured) {
            // A local path has no host.
            (true, Some(known)) if known.remote.address.scheme != Scheme::File => {
                vec![known.remote.address.host.clone()]
            }
            _ => settings.hosts.clone(),
        };
        NetworkPolicy {
            schemes: known.into_iter().filter(is_allowed).collect(),
            hosts,
            allow_private: settings.allow_private,
        }
    }

    fn ssh(&self) -> SshIdentity {
        let settings = &self.deps.settings;
        SshIdentity { key: settings.ssh_key.clone(), host_keys: settings.ssh_host_keys.clone() }
    }
}
