//! Host names that the service accepts, and pages that may request changes.
//!
//! A web page can make a browser send requests to this service, under a name that the owner of the page resolves to it.
//! Such a request carries that name in `Host` and the origin of the page in `Origin`. Names that are not configured are
//! refused.

use std::net::{IpAddr, Ipv6Addr};

/// `localhost`, every IP address, and the names and origins that the operator adds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    names: Vec<String>,
    origins: Vec<String>,
}

/// The host of a request or of a page origin; the port is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    Address(IpAddr),
    /// A name in lower case.
    Name(String),
}

impl AllowedHosts {
    /// Creates the allow list. `names` are host names without a port; `origins` are whole origins such as
    /// `https://desk.example:8443`.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>, origins: impl IntoIterator<Item = String>) -> Self {
        let lower = |text: String| text.to_ascii_lowercase();
        Self {
            names: names.into_iter().map(lower).collect(),
            origins: origins.into_iter().map(lower).collect(),
        }
    }

    /// Returns whether the service accepts this name. IP addresses are always accepted, because DNS cannot redirect
    /// them.
    pub(super) fn admit(&self, host: &Host) -> bool {
        match host {
            Host::Address(_) => true,
            Host::Name(name) => name == "localhost" || self.names.contains(name),
        }
    }

    /// Returns whether a page of this origin may request changes from a service under the name `addressed`. Accepted
    /// are pages of the same host, of this machine, of a configured name or of a configured origin; `null` is refused.
    pub(super) fn admit_origin(&self, origin: &str, addressed: Option<&Host>) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        match authority.and_then(Host::parse) {
            Some(host) if Some(&host) == addressed => true,
            Some(Host::Address(address)) => address.is_loopback(),
            Some(name @ Host::Name(_)) => self.admit(&name),
            None => false,
        }
    }
}

impl Host {
    /// Parses `host[:port]`; returns `None` if it has another form.
    pub(super) fn parse(authority: &str) -> Option<Self> {
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (address, after) = rest.split_once(']')?;
                let address: Ipv6Addr = address.parse().ok()?;
                (Host::Address(address.into()), after)
            }
            None => {
                let end = authority.find(':').unwrap_or(authority.len());
                let (name, after) = authority.split_at_checked(end)?;
                (Self::unbracketed(name)?, after)
            }
        };
        let digits = if port.is_empty() { "0" } else { port.strip_prefix(':')? };
        let is_port = digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok();
        is_port.then_some(host)
    }

    fn unbracketed(name: &str) -> Option<Self> {
        if let Ok(address) = name.parse() {
            return Some(Host::Address(IpAddr::V4(address)));
        }
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
        is_name.then(|| Host::Name(name.to_ascii_lowercase()))
    }
}
