//! TLS to a remote, its certificate held against the authorities that the system trusts.

use std::net::TcpStream;

use openssl::ssl::SslStream;

use crate::tls::connector;

/// A connection whose other end has proved that it is this host; `None` when it has not.
pub(super) fn connect(host: &str, stream: TcpStream) -> Option<SslStream<TcpStream>> {
    let connector = connector().ok()?;
    match connector.connect(host, stream) {
        Ok(stream) => Some(stream),
        Err(error) => {
            tracing::warn!(host, error = %error, "no trusted TLS connection comes about");
            None
        }
    }
}
