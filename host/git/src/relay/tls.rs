//! TLS to a remote, verified against the certificate authorities of the system.

use std::net::TcpStream;

use openssl::ssl::SslStream;

use tollgate_process::tls::connector;

/// Connects and verifies that the other end is this host; `None` if that fails.
pub(super) fn connect(host: &str, stream: TcpStream) -> Option<SslStream<TcpStream>> {
    let connector = connector().ok()?;
    match connector.connect(host, stream) {
        Ok(stream) => Some(stream),
        Err(error) => {
            tracing::warn!(host, error = %error, "a trusted TLS connection cannot be established");
            None
        }
    }
}
