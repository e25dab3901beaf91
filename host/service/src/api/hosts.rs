//! Under which names the service answers, and which pages may ask it for changes.
//!
//! A page of the web can make a browser send requests to this service, under a name that its owner points here. Such a
//! request carries that name in `Host`, and the page's origin in `Origin`: names nobody gave to this service are refused.

use std::net::{IpAddr, Ipv6Addr};

/// `localhost` and every address, and what the operator adds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    names: Vec<String>,
    origins: Vec<String>,
}

/// Whom a request is addressed to, or where a page comes from; the port does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    Address(IpAddr),
    /// In lower case.
    Name(String),
}

impl AllowedHosts {
    /// `names` are host names without a port, `origins` whole origins such as `https://desk.example:8443`.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>, origins: impl IntoIterator<Item = String>) -> Self {
        let lower = |text: String| text.to_ascii_lowercase();
        Self {
            names: names.into_iter().map(lower).collect(),
            origins: origins.into_iter().map(lower).collect(),
        }
    }

    /// Whether the service answers under this name. Under an address always: no owner of a name decides what that is.
    pub(super) fn admit(&self, host: &Host) -> bool {
        match host {
            Host::Address(_) => true,
            Host::Name(name) => name == "localhost" || self.names.contains(name),
        }
    }

    /// Whether a page of this origin may ask a service under this name for a change: a page of the same host, of this
    /// machine, of a configured name, or of a configured origin. `null` is none of them.
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
    /// Reads `host[:port]`; `None` when that is not what it is.
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
