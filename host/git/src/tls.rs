//! TLS to others: a connection whose other end has proved who it is to an authority that the system trusts.

use std::path::PathBuf;

use openssl::error::ErrorStack;
use openssl::ssl::{SslConnector, SslMethod, SslVersion};

/// The file of the authorities that are trusted; `named`: by `SSL_CERT_FILE`.
///
/// # Errors
/// Why there is none, and what to do, in words.
pub fn authorities(named: Option<PathBuf>) -> Result<PathBuf, String> {
    if let Some(named) = named
        && !named.exists()
    {
        let named = named.display();
        return Err(format!(
            "SSL_CERT_FILE names {named}, which is not there: the authorities of the system are trusted instead"
        ));
    }
    openssl_probe::probe().cert_file.ok_or_else(|| {
        "there is no file of certificate authorities, so that nobody is trusted: install `ca-certificates`, or name one with SSL_CERT_FILE"
            .to_owned()
    })
}

/// Makes connections of TLS 1.2 or newer. Made anew it has read the authorities anew.
///
/// # Errors
/// When the file of authorities cannot be read.
pub fn connector() -> Result<SslConnector, ErrorStack> {
    let mut builder = SslConnector::builder(SslMethod::tls_client())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    // Compiled in, the library does not know where this system keeps its authorities; `SSL_CERT_FILE` says otherwise.
    if let Some(authorities) = openssl_probe::probe().cert_file {
        builder.set_ca_file(authorities)?;
    }
    Ok(builder.build())
}

/// A connection that one waits for without holding a thread.
pub type TlsStream<S> = tokio_openssl::SslStream<S>;
