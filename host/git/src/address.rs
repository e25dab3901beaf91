//! Strict parser for addresses of remotes. It separates the credentials immediately.
//!
//! Parsers of addresses differ, and attackers exploit the differences. This grammar accepts less than a browser: one
//! spelling of an IPv4 address and no escapes in a host. It rejects text that another program could read as an option.
//! libgit2 gets an address rebuilt from the parsed parts, so the original text is never parsed a second time.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use tollgate_model::secret::Secret;

use super::credentials::Credentials;

const ADDRESS_BYTES_MAX: usize = 2048;
/// Longest host name and longest label, as defined by the domain name system.
const HOST_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// Protocol of a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP over TLS.
    Https,
    /// Plain HTTP.
    Http,
    /// SSH with a key.
    Ssh,
    /// A repository on this machine.
    File,
}

/// Address of a repository, without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryAddress {
    /// Protocol.
    pub scheme: Scheme,
    /// Host in lower case; an IPv6 address without brackets; empty for a path.
    pub host: String,
    /// Port; 0 for a path.
    pub port: u16,
    /// Path, with its leading `/`.
    pub path: String,
}

/// Reason why a text is not a valid address. The text is never shown, because it may contain a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RepositoryAddressError {
    /// Too long, empty, or with invalid characters.
    #[error(
        "an address has 1 to {ADDRESS_BYTES_MAX} printable ASCII characters and no space, quote or backslash"
    )]
    Characters,
    /// Not one of the supported forms.
    #[error(
        "an address looks like `https://host/path`, `ssh://git@host/path`, `git@host:path` or, where that is allowed, `http://host/path` or `/path`"
    )]
    Form,
    /// User and password cannot be separated or decoded.
    #[error("the user and the password in an address must be percent-encoded")]
    Credentials,
    /// Neither a host name nor an IP address in its usual spelling.
    #[error(
        "the host of an address must be a domain name, an IPv4 address of four decimal numbers or an IPv6 address in brackets"
    )]
    Host,
    /// Not a number from 1 to 65535.
    #[error("the port of an address must be a number from 1 to 65535")]
    Port,
    /// Empty, or with parts that lead outside the path.
    #[error("the path of an address must name a repository, without `..`, query or fragment")]
    Path,
}

impl Scheme {
    /// Returns the scheme as written in an address.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
            Self::File => "file",
        }
    }

    const fn port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Http => 80,
            Self::Ssh => 22,
            Self::File => 0,
        }
    }

    fn of_address(text: &str) -> Option<Self> {
        let schemes = [Self::Https, Self::Http, Self::Ssh, Self::File];
        schemes.into_iter().find(|scheme| text.eq_ignore_ascii_case(scheme.as_str()))
    }
}

impl RepositoryAddress {
    /// Parses an address and separates its credentials.
    ///
    /// # Errors
    /// See [`RepositoryAddressError`].
    pub fn parse(text: &str) -> Result<(Self, Credentials), RepositoryAddressError> {
        let is_odd = |byte: u8| !byte.is_ascii_graphic() || b"\"'<>\\^`{|}".contains(&byte);
        if text.is_empty() || text.len() > ADDRESS_BYTES_MAX || text.bytes().any(is_odd) {
            return Err(RepositoryAddressError::Characters);
        }
        if text.starts_with('/') {
            return Ok((Self::of_path(text)?, Credentials::default()));
        }
        let Some((scheme, rest)) = text.split_once("://") else { return Self::of_short_form(text) };
        let scheme = Scheme::of_address(scheme).ok_or(RepositoryAddressError::Form)?;
        let start = rest.find('/').ok_or(RepositoryAddressError::Path)?;
        let (authority, path) = rest.split_at(start);
        if scheme == Scheme::File {
            let is_here = authority.is_empty() || authority == "localhost";
            return if is_here {
                Ok((Self::of_path(path)?, Credentials::default()))
            } else {
                Err(RepositoryAddressError::Host)
            };
        }
        let (credentials, server) = match authority.split_once('@') {
            Some((user_info, server)) => (credentials_of(user_info)?, server),
            None => (Credentials::default(), authority),
        };
        let (host, port) = host_and_port(server)?;
        let address = Self { scheme, host, port: port.unwrap_or(scheme.port()), path: checked_path(path)? };
        Ok((address, credentials))
    }

    /// Parses `user@host:path`.
    fn of_short_form(text: &str) -> Result<(Self, Credentials), RepositoryAddressError> {
        let (user, rest) = text.split_once('@').ok_or(RepositoryAddressError::Form)?;
        let (host, path) = rest.split_once(':').ok_or(RepositoryAddressError::Form)?;
        if user.contains([':', '/']) || path.starts_with(':') {
            return Err(RepositoryAddressError::Form);
        }
        let path = checked_path(&format!("/{}", path.trim_start_matches('/')))?;
        let address = Self { scheme: Scheme::Ssh, host: host_of(host)?, port: Scheme::Ssh.port(), path };
        Ok((address, credentials_of(user)?))
    }

    fn of_path(path: &str) -> Result<Self, RepositoryAddressError> {
        let path = checked_path(path)?;
        // One program would read an escape literally, another as the character it encodes.
        if path.contains('%') {
            return Err(RepositoryAddressError::Path);
        }
        Ok(Self { scheme: Scheme::File, host: String::new(), port: 0, path })
    }

    /// Returns the host for a request, with its port unless it is the default.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = self.bracketed_host();
        if self.port == self.scheme.port() { host } else { format!("{host}:{}", self.port) }
    }

    fn bracketed_host(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

/// Writes the address without credentials and without a default port.
impl fmt::Display for RepositoryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scheme == Scheme::File {
            return f.write_str(&self.path);
        }
        write!(f, "{}://{}{}", self.scheme.as_str(), self.authority(), self.path)
    }
}

fn credentials_of(user_info: &str) -> Result<Credentials, RepositoryAddressError> {
    let (user, password) = match user_info.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (user_info, None),
    };
    let user = decoded(user)?;
    if user.starts_with('-') {
        return Err(RepositoryAddressError::Credentials);
    }
    let secret = password.filter(|password| !password.is_empty()).map(decoded).transpose()?;
    Ok(Credentials {
        user: Some(user).filter(|user| !user.is_empty()).map(Secret::new),
        secret: secret.map(Secret::new),
    })
}

/// Decodes percent-encoding (`%41` is `A`) and rejects control characters.
fn decoded(text: &str) -> Result<String, RepositoryAddressError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let plain = if byte == b'%' {
            let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
                return Err(RepositoryAddressError::Credentials);
            };
            u8::try_from(high * 16 + low).map_err(|_| RepositoryAddressError::Credentials)?
        } else {
            byte
        };
        bytes.push(plain);
    }
    let text = String::from_utf8(bytes).map_err(|_| RepositoryAddressError::Credentials)?;
    if text.contains(char::is_control) { Err(RepositoryAddressError::Credentials) } else { Ok(text) }
}

fn host_and_port(server: &str) -> Result<(String, Option<u16>), RepositoryAddressError> {
    let (host, port) = match server.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((address, port))) => {
            let address: Ipv6Addr = address.parse().map_err(|_| RepositoryAddressError::Host)?;
            let port = if port.is_empty() {
                None
            } else {
                Some(port.strip_prefix(':').ok_or(RepositoryAddressError::Host)?)
            };
            (address.to_string(), port)
        }
        Some(None) => return Err(RepositoryAddressError::Host),
        None => match server.split_once(':') {
            Some((host, port)) => (host_of(host)?, Some(port)),
            None => (host_of(server)?, None),
        },
    };
    let number = |port: &str| {
        let is_plain = (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
        let number = port.parse::<u16>().ok().filter(|port| is_plain && *port > 0);
        number.ok_or(RepositoryAddressError::Port)
    };
    Ok((host, port.map(number).transpose()?))
}

/// Accepts a domain name, or an IPv4 address in its usual spelling.
fn host_of(text: &str) -> Result<String, RepositoryAddressError> {
    let host = text.to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.bytes().all(is_inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if host.len() > HOST_BYTES_MAX || !host.split('.').all(is_label) {
        return Err(RepositoryAddressError::Host);
    }
    // Resolvers accept `0x7f.1`, `2130706433` and `0177.0.0.1` as addresses. A host that ends like a number must
    // therefore consist of four decimal numbers.
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    if is_number && host.parse::<Ipv4Addr>().is_err() { Err(RepositoryAddressError::Host) } else { Ok(host) }
}

fn checked_path(path: &str) -> Result<String, RepositoryAddressError> {
    let lower = path.to_ascii_lowercase();
    let leads_away = |part: &str| part == ".." || part == "." || part.starts_with('-');
    let is_hidden = ["%2e", "%2f", "%5c", "%00", "%0a", "%0d"].iter().any(|escape| lower.contains(escape));
    let is_empty = path.trim_matches('/').is_empty();
    if is_empty || is_hidden || path.contains(['?', '#']) || path.split('/').any(leads_away) {
        return Err(RepositoryAddressError::Path);
    }
    Ok(path.to_owned())
}
