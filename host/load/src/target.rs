//! The address of the service under test.

use std::net::{SocketAddr, ToSocketAddrs as _};

use super::error::BenchError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpTarget {
    pub(super) address: SocketAddr,
    /// Value of the `Host` header.
    pub(super) host: String,
    /// Process ID of a service started by this program.
    pub(super) pid: Option<u32>,
}

impl HttpTarget {
    /// Returns the target of an external service.
    ///
    /// # Errors
    /// When the URL has another form, or its host cannot be resolved.
    pub(super) fn at(url: &str) -> Result<Self, BenchError> {
        let wrong = || BenchError::Url(url.to_owned());
        let host = url.strip_prefix("http://").ok_or_else(wrong)?.trim_end_matches('/');
        if host.contains(['/', '?', '@']) {
            return Err(wrong());
        }
        let with_port = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
            host.to_owned()
        } else {
            format!("{host}:80")
        };
        let found = with_port.to_socket_addrs().map_err(BenchError::io("find the service"))?.next();
        Ok(Self { address: found.ok_or_else(wrong)?, host: host.to_owned(), pid: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_scheme_host_and_port() {
        let target = HttpTarget::at("http://127.0.0.1:8081/").unwrap();
        assert_eq!(
            (target.address.to_string().as_str(), target.host.as_str()),
            ("127.0.0.1:8081", "127.0.0.1:8081")
        );
        assert_eq!(HttpTarget::at("http://127.0.0.1").unwrap().address.port(), 80);
        for wrong in ["https://127.0.0.1", "127.0.0.1:8081", "http://127.0.0.1/inject", "http://a@127.0.0.1"]
        {
            assert!(matches!(HttpTarget::at(wrong), Err(BenchError::Url(_))), "{wrong}");
        }
    }
}
