//! A single GET request to a service on this machine.

use std::io;
use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

const BODY_BYTES_MAX: usize = 64 * 1024;

/// The response to a GET request.
#[derive(Debug)]
pub struct GetResponse {
    /// HTTP status.
    pub status: u16,
    /// Body text; empty if it is longer than 64 KiB or incomplete.
    pub body: String,
}

/// A reason why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum GetError {
    /// The connection failed.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// Address of the service.
        address: SocketAddr,
        /// Cause of the failure.
        source: io::Error,
    },
    /// The peer does not speak HTTP, or it closed the connection.
    #[error("no answer: {0}")]
    Http(#[from] hyper::Error),
    /// The path is invalid.
    #[error("the path cannot be requested: {0}")]
    Path(#[from] hyper::http::Error),
}

/// Requests a path, without a time limit: the caller must set one.
///
/// # Errors
/// See [`GetError`].
pub async fn get(address: SocketAddr, path: &str) -> Result<GetResponse, GetError> {
    let connection =
        TcpStream::connect(address).await.map_err(|source| GetError::Connect { address, source })?;
    let (mut sender, connection) = handshake(TokioIo::new(connection)).await?;
    tokio::spawn(connection);
    let request = Request::get(path).header(HOST, address.to_string()).body(Empty::<Bytes>::new())?;
    let answer = sender.send_request(request).await?;
    let status = answer.status().as_u16();
    let body = Limited::new(answer.into_body(), BODY_BYTES_MAX).collect().await;
    let body = body.map(|body| String::from_utf8_lossy(&body.to_bytes()).into_owned()).unwrap_or_default();
    Ok(GetResponse { status, body })
}
