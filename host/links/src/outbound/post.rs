//! One request to a webhook: what is sent, and what its answer means.

use std::error::Error as _;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::timeout;
use tollgate_model::secret::Secret;
use tower::Service;

use super::connection::{ConnectError, PeerStream, TrustStore};
use super::{PeerAddress, Protocol};

/// Of an answer so much is read, so that its connection can be used again, and nothing of it is looked at.
const ANSWER_BYTES_MAX: usize = 16 * 1024;
/// Connections to one address that stay open between requests.
const IDLE_MAX: usize = 8;
/// How long a body is read whose status is known.
const BODY_TIME_MAX: Duration = Duration::from_secs(1);
/// And how long.
const IDLE_TIME: Duration = Duration::from_secs(30);

const USER_AGENT: &str = concat!("tollgate/", env!("CARGO_PKG_VERSION"));

/// Connects for the client, which keeps what it is given.
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
            // On its own as well: a request that is given up, or served otherwise, leaves this running.
            match timeout(time_max, trust.connect(&address)).await {
                Ok(connected) => connected.map(TokioIo::new),
                Err(_) => Err(ConnectError::Tcp(std::io::ErrorKind::TimedOut.into())),
            }
        })
    }
}

/// Sends messages; keeps connections open between them.
pub struct Post {
    client: Client<Connector, Full<Bytes>>,
    time_max: Duration,
}

/// Why a message has not arrived, as far as we know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// No connection, or one that broke.
    #[error("{0}")]
    Unreachable(String),
    /// No whole answer in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// It is never to be sent there again.
    #[error("status 410: the endpoint is gone")]
    Gone,
    /// It sends us somewhere else, where we do not go.
    #[error("status {0}: redirects are not followed")]
    Redirect(u16),
    /// Any other status but success.
    #[error("status {0}")]
    Status(u16),
}

impl Post {
    /// Requests may take so long, connecting included.
    #[must_use]
    pub fn new(trust: TrustStore, time_max: Duration) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(IDLE_MAX)
            .pool_idle_timeout(IDLE_TIME)
            .pool_timer(TokioTimer::new())
            .build(Connector { trust, time_max });
        Self { client, time_max }
    }

    /// Sends a JSON body with these headers and waits for a status of success.
    ///
    /// # Errors
    /// See [`PostError`]. The receiver may have taken it all the same.
    pub async fn send(
        &self,
        address: &PeerAddress,
        headers: &[(&'static str, String)],
        body: &str,
    ) -> Result<(), PostError> {
        let request = request(address, headers, body)?;
        match timeout(self.time_max, self.exchange(request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(PostError::Timeout(self.time_max)),
        }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<(), PostError> {
        let answer = self.client.request(request).await.map_err(|error| {
            // The first of the causes that is ours says it best.
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            PostError::Unreachable(cause)
        })?;
        let (head, body) = answer.into_parts();
        // The status says it all. A body that is too long or too slow costs its connection, no more.
        drop(timeout(BODY_TIME_MAX, Limited::new(body, ANSWER_BYTES_MAX).collect()).await);
        match head.status {
            status if status.is_success() => Ok(()),
            StatusCode::GONE => Err(PostError::Gone),
            status if status.is_redirection() => Err(PostError::Redirect(status.as_u16())),
            status => Err(PostError::Status(status.as_u16())),
        }
    }
}

fn request(
    address: &PeerAddress,
    headers: &[(&'static str, String)],
    body: &str,
) -> Result<Request<Full<Bytes>>, PostError> {
    let mut request = Request::post(address.uri().clone())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, USER_AGENT);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let unsendable = |_| PostError::Unreachable("the request cannot be written".to_owned());
    if let Some(authorization) = address.authorization() {
        let mut value = HeaderValue::from_str(authorization.expose())
            .map_err(|_| PostError::Unreachable("the credentials cannot be sent".to_owned()))?;
        value.set_sensitive(true);
        request = request.header(header::AUTHORIZATION, value);
    }
    request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).map_err(unsendable)
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post").field("time_max", &self.time_max).finish_non_exhaustive()
    }
}
