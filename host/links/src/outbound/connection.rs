//! A connection to an address: TCP, with TLS if the address requires it.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper_util::client::legacy::connect::{Connected, Connection};
use openssl::error::ErrorStack;
use openssl::ssl::SslConnector;
use openssl::x509::X509VerifyResult;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tollgate_process::tls;

use super::PeerAddress;

/// The certificate authorities that the system trusted at startup.
#[derive(Clone)]
pub struct TrustStore {
    connector: SslConnector,
}

/// An error from reading the trusted authorities.
#[derive(Debug, thiserror::Error)]
#[error("the certificates of trusted authorities cannot be read: {0}")]
pub struct TrustError(#[from] ErrorStack);

pub(super) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// An open connection, with or without TLS.
pub(super) type PeerStream = Box<dyn ByteStream>;

impl Connection for Box<dyn ByteStream> {
    fn connected(&self) -> Connected {
        Connected::new().extra(ServedFlag::default())
    }
}

/// Whether a connection has carried a response: if it breaks after that, its peer has closed an idle connection.
#[derive(Debug, Clone, Default)]
pub(super) struct ServedFlag(Arc<AtomicBool>);

impl ServedFlag {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    /// The host cannot be found or does not accept connections.
    #[error("cannot connect: {0}")]
    Tcp(#[source] io::Error),
    /// The peer has no trusted certificate or does not speak TLS.
    #[error("no trusted TLS connection: {0}")]
    Tls(#[source] Box<dyn Error + Send + Sync>),
}

impl TrustStore {
    /// Reads the authorities that the system trusts.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn of_the_system() -> Result<Self, TrustError> {
        Ok(Self { connector: tls::connector()? })
    }

    /// Connects. The caller sets the time limit.
    pub(super) async fn connect(&self, address: &PeerAddress) -> Result<PeerStream, ConnectError> {
        let tcp = TcpStream::connect((address.host(), address.port())).await.map_err(ConnectError::Tcp)?;
        tcp.set_nodelay(true).map_err(ConnectError::Tcp)?;
        if !address.is_secure() {
            return Ok(Box::new(tcp));
        }
        let failed = |error: ErrorStack| ConnectError::Tls(error.into());
        let ssl = self.connector.configure().and_then(|ssl| ssl.into_ssl(address.host())).map_err(failed)?;
        let mut stream = tls::TlsStream::new(ssl, tcp).map_err(failed)?;
        match Pin::new(&mut stream).connect().await {
            Ok(()) => Ok(Box::new(stream)),
            Err(error) => {
                // A certificate problem is reported in words.
                let verdict = stream.ssl().verify_result();
                let is_trusted = verdict == X509VerifyResult::OK;
                Err(ConnectError::Tls(if is_trusted { error.into() } else { verdict.error_string().into() }))
            }
        }
    }
}

impl std::fmt::Debug for TrustStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trust")
    }
}
