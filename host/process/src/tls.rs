//! TLS connections, verified against the certificate authorities of the system.

use std::path::PathBuf;

use openssl::error::ErrorStack;
use openssl::ssl::{SslConnector, SslMethod, SslVersion};

/// Returns the file of the trusted authorities; `named` is the value of `SSL_CERT_FILE`.
///
/// # Errors
/// A text for the operator: the file in `named` does not exist, or the system has no such file.
pub fn authorities(named: Option<PathBuf>) -> Result<PathBuf, String> {
    if let Some(named) = named
        && !named.exists()
    {
        let named = named.display();
        return Err(format!(
            "SSL_CERT_FILE names {named}, which does not exist: the certificate authorities of the system are used instead"
        ));
    }
    openssl_probe::probe().cert_file.ok_or_else(|| {
        "there is no file of certificate authorities, so no certificate is trusted: install `ca-certificates`, or name a file with SSL_CERT_FILE"
            .to_owned()
    })
}

/// Creates a connector for TLS 1.2 or newer. Each call reads the authorities again.
///
/// # Errors
/// Fails if the file of authorities cannot be read.
pub fn connector() -> Result<SslConnector, ErrorStack> {
    let mut builder = SslConnector::builder(SslMethod::tls_client())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    // The statically linked library has no path to the authorities of this system. `SSL_CERT_FILE` overrides the path
    // found.
    if let Some(authorities) = openssl_probe::probe().cert_file {
        builder.set_ca_file(authorities)?;
    }
    Ok(builder.build())
}

/// An asynchronous TLS connection.
pub type TlsStream<S> = tokio_openssl::SslStream<S>;
