//! Policy for the remotes and addresses that the service may contact.
//!
//! A name is resolved once, every resulting address is checked, and the connection goes to one of these addresses. A
//! name that later resolves to another address therefore has no effect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::GitError;
use super::address::{RepositoryAddress, Scheme};
use super::network::Network;

/// Allowed remotes. The policy does not restrict the configured repository: an operator may choose any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// Allowed schemes.
    pub schemes: Vec<Scheme>,
    /// Allowed hosts; empty for any.
    pub hosts: Vec<String>,
    /// Whether private addresses are allowed: loopback, link-local, local networks.
    pub allow_private: bool,
}

impl NetworkPolicy {
    /// Returns the policy for the repository that the operator configured.
    #[must_use]
    pub fn anywhere() -> Self {
        let schemes = vec![Scheme::Https, Scheme::Http, Scheme::Ssh, Scheme::File];
        Self { schemes, hosts: Vec::new(), allow_private: true }
    }

    /// Checks an address without resolving its host.
    ///
    /// # Errors
    /// [`GitError::NotAllowed`].
    pub fn admit(&self, address: &RepositoryAddress) -> Result<(), GitError> {
        if !self.schemes.contains(&address.scheme) {
            return Err(GitError::NotAllowed("its scheme is not among SERVICE_GIT_ALLOW_SCHEMES"));
        }
        if address.scheme == Scheme::File {
            return Ok(());
        }
        if !self.hosts.is_empty() && !self.hosts.contains(&address.host) {
            return Err(GitError::NotAllowed("its host is not among SERVICE_GIT_ALLOW_HOSTS"));
        }
        match address.host.parse::<IpAddr>() {
            Ok(ip) => self.admit_ip(ip),
            Err(_) => Ok(()),
        }
    }

    /// Resolves the host of a remote and checks every address.
    ///
    /// # Errors
    /// [`GitError::NotAllowed`] if one address is not allowed; [`GitError::Unresolved`] if there is none.
    pub(super) fn resolve(
        &self,
        address: &RepositoryAddress,
        network: &dyn Network,
    ) -> Result<Vec<SocketAddr>, GitError> {
        self.admit(address)?;
        let found = network.resolve(&address.host, address.port).map_err(|_| GitError::Unresolved)?;
        // One private address rejects the name: a legitimate host does not mix public and private addresses.
        found.iter().try_for_each(|address| self.admit_ip(address.ip()))?;
        if found.is_empty() { Err(GitError::Unresolved) } else { Ok(found) }
    }

    fn admit_ip(&self, ip: IpAddr) -> Result<(), GitError> {
        if self.allow_private || is_public(ip) {
            return Ok(());
        }
        Err(GitError::NotAllowed("it is at a private address, and SERVICE_GIT_ALLOW_PRIVATE is not set"))
    }
}

/// Returns whether an address is public; an IPv6 address that embeds an IPv4 address is not.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_protocol = a == 192 && b == 0 && c == 0;
    let is_relay = a == 192 && b == 88 && c == 99;
    let is_benchmark = a == 198 && (b == 18 || b == 19);
    !(a == 0
        || a >= 224
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_documentation()
        || is_shared
        || is_protocol
        || is_relay
        || is_benchmark)
}

/// Accepts only global unicast addresses without an embedded IPv4 address, because a translator would connect to
/// that one.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [first, second, ..] = ip.segments();
    let is_given_out = first & 0xe000 == 0x2000;
    let is_6to4 = first == 0x2002;
    // Teredo, benchmarks, ORCHID and other reservations at the beginning of 2001::/16.
    let is_reserved = first == 0x2001 && second < 0x0200;
    let is_documentation = (first == 0x2001 && second == 0x0db8) || first == 0x3fff;
    is_given_out && !is_6to4 && !is_reserved && !is_documentation
}

#[cfg(test)]
mod tests;
