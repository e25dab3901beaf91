//! An address from the settings, with its credentials separated.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use percent_encoding::percent_decode_str;
use tollgate_model::secret::Secret;
use url::{Host, Url};

/// The protocol of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `http` or `https`.
    Http,
    /// `ws` or `wss`.
    WebSocket,
}

/// The address and credentials of a peer. Displayed as scheme, host and port.
#[derive(Clone)]
pub struct PeerAddress {
    /// Address without user and password.
    uri: Uri,
    host: String,
    port: u16,
    is_secure: bool,
    authorization: Option<Secret>,
}

/// A reason why an address is unusable. It never contains the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeerAddressError {
    /// The text is not an address of this protocol.
    #[error("it must be an address such as `{}`", protocol_example(.0))]
    Malformed(Protocol),
    /// The address and a token both provide credentials.
    #[error("it holds a user or a password, and a token is set as well; use one of them")]
    TwoCredentials,
    /// The credentials would be sent unencrypted.
    #[error("credentials are sent over TLS only, or to this machine")]
    CredentialsInTheClear,
}

const fn protocol_example(protocol: &Protocol) -> &'static str {
    match protocol {
        Protocol::Http => "https://host/path",
        Protocol::WebSocket => "wss://host/path",
    }
}

impl PeerAddress {
    /// Parses an address. `token` is a bearer token; with one, the address must not contain a user or password.
    ///
    /// # Errors
    /// See [`PeerAddressError`].
    pub fn read(text: &Secret, token: Option<&Secret>, protocol: Protocol) -> Result<Self, PeerAddressError> {
        let malformed = PeerAddressError::Malformed(protocol);
        let mut url = parse(text.expose()).ok_or(malformed)?;
        let is_secure = match (protocol, url.scheme()) {
            (Protocol::Http, "https") | (Protocol::WebSocket, "wss") => true,
            (Protocol::Http, "http") | (Protocol::WebSocket, "ws") => false,
            _ => return Err(malformed),
        };
        let has_credentials = !url.username().is_empty() || url.password().is_some();
        let authorization = match token {
            Some(_) if has_credentials => return Err(PeerAddressError::TwoCredentials),
            Some(token) => Some(Secret::new(format!("Bearer {}", token.expose()))),
            None if has_credentials => Some(basic(&url).ok_or(malformed)?),
            None => None,
        };
        let removed = url.set_username("").and_then(|()| url.set_password(None));
        removed.map_err(|()| malformed)?;
        url.set_fragment(None);
        let host = match url.host().ok_or(malformed)? {
            Host::Ipv6(address) => address.to_string(),
            host => host.to_string(),
        };
        let port = url.port_or_known_default().ok_or(malformed)?;
        let uri: Uri = url.as_str().parse().map_err(|_| malformed)?;
        let address = Self { uri, host, port, is_secure, authorization };
        if address.port == 0 {
            return Err(malformed);
        }
        if address.authorization.is_some() && !is_secure && !address.is_here() {
            return Err(PeerAddressError::CredentialsInTheClear);
        }
        Ok(address)
    }

    /// Returns the address without its credentials.
    #[must_use]
    pub const fn uri(&self) -> &Uri {
        &self.uri
    }

    pub(super) const fn authorization(&self) -> Option<&Secret> {
        self.authorization.as_ref()
    }

    /// Returns whether traffic to the peer is unencrypted and leaves this machine.
    #[must_use]
    pub fn is_in_the_clear(&self) -> bool {
        !self.is_secure && !self.is_here()
    }

    fn is_here(&self) -> bool {
        let ip = self.host.parse::<IpAddr>();
        self.host.eq_ignore_ascii_case("localhost") || ip.is_ok_and(|ip| ip.to_canonical().is_loopback())
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    pub(super) const fn is_secure(&self) -> bool {
        self.is_secure
    }
}

/// Parses an absolute URL. The URL standard also accepts `https:host`, `https:///host`, backslashes and line breaks. In a
/// setting these are mistakes, and are refused.
fn parse(text: &str) -> Option<Url> {
    let (scheme, rest) = text.split_once("://")?;
    let is_odd = |character: char| character.is_control() || character.is_whitespace() || character == '\\';
    let url = Url::parse(text).ok()?;
    let is_plain =
        scheme.eq_ignore_ascii_case(url.scheme()) && !rest.starts_with('/') && !text.contains(is_odd);
    is_plain.then_some(url)
}

fn basic(url: &Url) -> Option<Secret> {
    let decoded = |text| percent_decode_str(text).decode_utf8().ok();
    let both = format!("{}:{}", decoded(url.username())?, decoded(url.password().unwrap_or_default())?);
    Some(Secret::new(format!("Basic {}", STANDARD.encode(both))))
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.uri.scheme_str().unwrap_or_default();
        match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V6(ip)) => write!(f, "{scheme}://[{ip}]:{}", self.port),
            _ => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Debug for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, token: Option<&str>, protocol: Protocol) -> Result<PeerAddress, PeerAddressError> {
        let token = token.map(|token| Secret::new(token.to_owned()));
        PeerAddress::read(&Secret::new(text.to_owned()), token.as_ref(), protocol)
    }

    #[track_caller]
    fn check(text: &str, token: Option<&str>, protocol: Protocol, shown: &str, header: Option<&str>) {
        let address = read(text, token, protocol).unwrap();
        assert_eq!(format!("{address} {address:?}"), format!("{shown} {shown}"));
        assert_eq!(address.authorization().map(Secret::expose), header);
        assert!(!address.uri().to_string().contains('@'));
    }

    #[test]
    fn credentials_are_taken_out_and_nothing_but_the_place_is_shown() {
        use Protocol::{Http, WebSocket};
        check("https://Hooks.example/T0/canary?key=canary", None, Http, "https://hooks.example:443", None);
        check("http://127.0.0.1:9/x", None, Http, "http://127.0.0.1:9", None);
        check("wss://[::1]/", Some("canary"), WebSocket, "wss://[::1]:443", Some("Bearer canary"));
        check("ws://localhost:80", Some("canary"), WebSocket, "ws://localhost:80", Some("Bearer canary"));
        // user:p@ss:ü
        let header = Some("Basic dXNlcjpwQHNzOsO8");
        check("https://user:p%40ss%3A%C3%BC@host:1/a", None, Http, "https://host:1", header);
        check("https://127.0.0.1:7777#@host/x", None, Http, "https://127.0.0.1:7777", None);
        check("https://bücher.example/x", None, Http, "https://xn--bcher-kva.example:443", None);
    }

    #[test]
    fn an_invalid_address_or_one_that_would_expose_a_secret_is_refused() {
        for text in [
            "",
            "host",
            "/path",
            "ftp://host",
            "wss://host",
            "https://",
            "https:host",
            "https:///host",
            "https://h:0",
            "https:// h",
            " https://h",
            "https://h\n/x",
            "https://h\\@other/",
        ] {
            assert_eq!(
                read(text, None, Protocol::Http).unwrap_err(),
                PeerAddressError::Malformed(Protocol::Http)
            );
        }
        assert!(read("https://host", None, Protocol::WebSocket).is_err());
        let two = read("wss://u:p@host", Some("t"), Protocol::WebSocket);
        assert_eq!(two.unwrap_err(), PeerAddressError::TwoCredentials);
        for clear in ["ws://dashboard.example", "ws://10.0.0.1", "ws://localhost.example"] {
            let error = read(clear, Some("t"), Protocol::WebSocket).unwrap_err();
            assert_eq!(error, PeerAddressError::CredentialsInTheClear, "{clear}");
            assert!(read(clear, None, Protocol::WebSocket).unwrap().is_in_the_clear());
        }
        assert!(read("ws://[::ffff:127.0.0.1]:1/", Some("t"), Protocol::WebSocket).is_ok());
    }
}
