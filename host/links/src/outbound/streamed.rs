//! A POST request whose response is read while its body is sent.

use std::convert::Infallible;
use std::future::Future;

use http_body_util::BodyExt as _;
use http_body_util::channel::{Channel, Sender};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::handshake;
use hyper::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use super::PeerAddress;
use super::connection::{ConnectError, TrustStore};

/// Pieces of the body that wait to be sent.
const PIECES_WAITING: usize = 2;
/// Most bytes of a response that are returned as a text.
const TEXT_BYTES_MAX: usize = 4 * 1024;

/// The body of a request. It ends when this is dropped.
pub struct StreamedBody {
    sender: Sender<Bytes, Infallible>,
}

/// The response to a request, as far as it has arrived.
#[derive(Debug)]
pub struct StreamedResponse {
    response: Response<Incoming>,
}

/// A reason why there is no response, or no more of it.
#[derive(Debug, thiserror::Error)]
pub enum StreamedError {
    /// There is no connection.
    #[error("{0}")]
    Connect(String),
    /// The peer does not speak HTTP, or it closed the connection.
    #[error("the connection ended: {0}")]
    Http(#[from] hyper::Error),
    /// A header or the address is invalid.
    #[error("the request cannot be sent: {0}")]
    Request(#[from] hyper::http::Error),
}

impl StreamedBody {
    /// Sends a piece, once there is room for it. Returns whether the request is still open.
    pub async fn send(&mut self, piece: Bytes) -> bool {
        self.sender.send_data(piece).await.is_ok()
    }
}

impl StreamedResponse {
    /// Returns the HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Returns the next piece of the body, or `None` at its end.
    ///
    /// # Errors
    /// If the connection ends before the body.
    pub async fn next(&mut self) -> Result<Option<Bytes>, StreamedError> {
        while let Some(frame) = self.response.body_mut().frame().await {
            if let Ok(piece) = frame?.into_data() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    /// Returns the beginning of the body as a text, as far as it arrives.
    pub async fn into_text(mut self) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < TEXT_BYTES_MAX
            && let Ok(Some(piece)) = self.next().await
        {
            bytes.extend_from_slice(&piece);
        }
        bytes.truncate(TEXT_BYTES_MAX);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Begins a request. Its response may arrive before its body ends. There is no time limit: the caller sets one.
///
/// # Errors
/// See [`StreamedError`].
pub async fn post_streamed(
    trust: &TrustStore,
    address: &PeerAddress,
    headers: &[(HeaderName, HeaderValue)],
) -> Result<
    (StreamedBody, impl Future<Output = Result<StreamedResponse, StreamedError>> + Send + use<>),
    StreamedError,
> {
    let connected = trust.connect(address).await;
    let stream = connected.map_err(|error: ConnectError| StreamedError::Connect(error.to_string()))?;
    let (mut requests, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let uri = address.uri();
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let mut request =
        Request::post(uri.path_and_query().map_or("/", |path| path.as_str())).header(HOST, host);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(authorization) = address.authorization() {
        request = request.header(AUTHORIZATION, authorization.expose());
    }
    let (sender, body) = Channel::<Bytes, Infallible>::new(PIECES_WAITING);
    let request = request.body(body)?;
    let response = async move { Ok(StreamedResponse { response: requests.send_request(request).await? }) };
    Ok((StreamedBody { sender }, response))
}
