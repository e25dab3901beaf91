//! TLS to a remote, its certificate held against the authorities that the system trusts.

use std::net::TcpStream;

use openssl::error::ErrorStack;
use openssl::ssl::{SslConnector, SslMethod, SslStream, SslVersion};

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

fn connector() -> Result<SslConnector, ErrorStack> {
    let mut builder = SslConnector::builder(SslMethod::tls_client())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    // Compiled in, the library does not know where this system keeps its authorities; `SSL_CERT_FILE` says otherwise.
    if let Some(authorities) = openssl_probe::probe().cert_file {
        builder.set_ca_file(authorities)?;
    }
    Ok(builder.build())
}
