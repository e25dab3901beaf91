//! A single request to a webhook and the meaning of its response.

use std::error::Error as _;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::Extensions;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::timeout;
use tollgate_model::secret::Secret;
use tower::Service;

use super::connection::{ConnectError, PeerStream, ServedFlag, TrustStore};
use super::{PeerAddress, Protocol};

/// Maximum number of response bytes read, so that the connection can be reused. A longer response counts as empty.
const ANSWER_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of idle connections per address.
const IDLE_MAX: usize = 8;
/// Time limit for reading a body after the status.
const BODY_TIME_MAX: Duration = Duration::from_secs(1);
const IDLE_TIME: Duration = Duration::from_secs(30);

/// The header with the id of a message.
const ID_HEADER: &str = "webhook-id";

const USER_AGENT: &str = concat!("tollgate/", env!("CARGO_PKG_VERSION"));

#[derive(Clone)]
struct Connector {
    trust: TrustStore,
    time_max: Duration,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<PeerStream>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (trust, time_max) = (self.trust.clone(), self.time_max);
        Box::pin(async move {
            // The credentials are in the request.
            let address = PeerAddress::read(&Secret::new(uri.to_string()), None, Protocol::Http);
            let address = address.map_err(|error| ConnectError::Tls(error.into()))?;
            // A separate time limit: this future continues if its request is abandoned or gets another connection.
            match timeout(time_max, trust.connect(&address)).await {
                Ok(connected) => connected.map(TokioIo::new),
                Err(_) => Err(ConnectError::Tcp(std::io::ErrorKind::TimedOut.into())),
            }
        })
    }
}

/// A client that sends messages and keeps connections open between them.
pub struct Post {
    client: Client<Connector, Full<Bytes>>,
    time_max: Duration,
}

/// A reason why a message was, to our knowledge, not delivered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// There is no connection, or it broke.
    #[error("{0}")]
    Unreachable(String),
    /// No complete response arrived in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The endpoint is gone for good.
    #[error("status 410: the endpoint is gone")]
    Gone,
    /// The response is a redirect, which is not followed.
    #[error("status {0}: redirects are not followed")]
    Redirect(u16),
    /// Any other status that is not a success.
    #[error("status {0}")]
    Status(u16),
}

impl Post {
    /// Creates a client. `time_max` limits each request, including connecting.
    #[must_use]
    pub fn new(trust: TrustStore, time_max: Duration) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(IDLE_MAX)
            .pool_idle_timeout(IDLE_TIME)
            .pool_timer(TokioTimer::new())
            .build(Connector { trust, time_max });
        Self { client, time_max }
    }

    /// Sends a JSON body with these headers and waits for a success status.
    ///
    /// # Errors
    /// See [`PostError`]. The receiver may have accepted the message despite an error.
    pub async fn send(
        &self,
        address: &PeerAddress,
        headers: &[(&'static str, String)],
        body: &str,
    ) -> Result<(), PostError> {
        let headers = headers_of_message(headers).ok_or_else(unsendable)?;
        let answer = self.post(address, headers, Bytes::copy_from_slice(body.as_bytes())).await?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            StatusCode::GONE => Err(PostError::Gone),
            status if status.is_redirection() => Err(PostError::Redirect(status.as_u16())),
            status => Err(PostError::Status(status.as_u16())),
        }
    }

    /// Sends a body with these headers and returns the response, whatever its status.
    ///
    /// # Errors
    /// [`PostError::Unreachable`] and [`PostError::Timeout`].
    pub async fn post(
        &self,
        address: &PeerAddress,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Bytes>, PostError> {
        let request = request(address, headers, body)?;
        match timeout(self.time_max, self.exchange(request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(PostError::Timeout(self.time_max)),
        }
    }

    /// Waits for the head of the response. A message with an id is sent again while its peer has closed idle connections;
    /// the peer can tell by the id that it knows the message.
    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Error> {
        let has_id = request.headers().contains_key(ID_HEADER);
        for _ in 0..IDLE_MAX {
            match self.client.request(request.clone()).await {
                Err(error) if has_id && has_lost_kept_connection(&error) => {}
                outcome => return outcome,
            }
        }
        self.client.request(request).await
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, PostError> {
        let answer = self.answer(request).await.map_err(|error| {
            // The source is more specific than the error itself, for example our own connect error.
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            PostError::Unreachable(cause)
        })?;
        if let Some(served) = answer.extensions().get::<ServedFlag>() {
            served.set();
        }
        let (head, body) = answer.into_parts();
        // The status decides. A body that is too long or too slow only costs the connection.
        let body = timeout(BODY_TIME_MAX, Limited::new(body, ANSWER_BYTES_MAX).collect()).await;
        let body = body.ok().and_then(Result::ok).map(http_body_util::Collected::to_bytes);
        Ok(Response::from_parts(head, body.unwrap_or_default()))
    }
}

/// Whether a request broke a connection that its peer had kept open after a response.
fn has_lost_kept_connection(error: &Error) -> bool {
    let mut extras = Extensions::new();
    if let Some(connection) = error.connect_info() {
        connection.get_extras(&mut extras);
    }
    extras.get::<ServedFlag>().is_some_and(ServedFlag::is_set)
}

/// Returns the headers of a JSON message; `None` if one cannot be written.
fn headers_of_message(headers: &[(&'static str, String)]) -> Option<HeaderMap> {
    let mut all = HeaderMap::new();
    all.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    all.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    for (name, value) in headers {
        all.append(HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?);
    }
    Some(all)
}

fn unsendable() -> PostError {
    PostError::Unreachable("the request cannot be written".to_owned())
}

fn request(
    address: &PeerAddress,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, PostError> {
    let mut request = Request::post(address.uri().clone());
    request.headers_mut().ok_or_else(unsendable)?.extend(headers);
    if let Some(authorization) = address.authorization() {
        let mut value = HeaderValue::from_str(authorization.expose())
            .map_err(|_| PostError::Unreachable("the credentials cannot be sent".to_owned()))?;
        value.set_sensitive(true);
        request = request.header(header::AUTHORIZATION, value);
    }
    request.body(Full::new(body)).map_err(|_| unsendable())
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post").field("time_max", &self.time_max).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
