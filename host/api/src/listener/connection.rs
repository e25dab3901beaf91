//! Serves one connection from its first byte to its end.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::ready;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::header::{CONNECTION, HeaderValue};
use hyper::body::Incoming;
use hyper::server::conn::http1::{self, Builder};
use hyper::service::{HttpService, Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep};

use super::bodies::{TimedRequestBody, TimedResponseBody};
use super::refusal;
use super::slots::ConnectionSlot;
use super::timed_stream::TimedStream;
use super::timers::{ConnectionTimers, ExpiredLimit};
use crate::api_service::ApiService;
use crate::error_code::ErrorCode;
use crate::request_limits::{HealthOnly, STREAMED_PATH, ShutdownStage, StreamedRequest};
use tollgate_telemetry::config::ConnectionLimits;
use tollgate_telemetry::metrics::Metrics;

/// Maximum size of a request head, in bytes; a larger head is answered with 431.
const HEAD_BYTES_MAX: usize = 32 * 1024;

/// Size of the buffer for bytes not yet read by the service or not yet sent to the client.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// Time in which a client on a health slot must send its request head.
const HEALTH_REQUEST_HEAD_MAX: Duration = Duration::from_secs(1);

/// Sleep time of the timer while no limit applies.
const FAR: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub(super) struct ConnectionContext {
    pub(super) api_service: ApiService,
    pub(super) limits: ConnectionLimits,
    pub(super) metrics: Arc<Metrics>,
    pub(super) stage: watch::Receiver<ShutdownStage>,
}

/// Serves a client until it disconnects, exceeds a limit, or the service stops.
pub(super) async fn serve(stream: TcpStream, slot: ConnectionSlot, connection_context: ConnectionContext) {
    let ConnectionContext { api_service, mut limits, metrics, mut stage } = connection_context;
    let _open = metrics.connection_opened();
    if slot.is_health_slot() {
        limits.head = limits.head.min(HEALTH_REQUEST_HEAD_MAX);
    }
    let timers = Arc::new(ConnectionTimers::new(limits));
    let io = TokioIo::new(TimedStream::new(stream, Arc::clone(&timers)));
    let streamed = StreamedRequest { line_timeout: limits.idle, stage: stage.clone() };
    let requests = requests(api_service, Arc::clone(&timers), slot.is_health_slot(), streamed);
    let mut connection = Builder::new()
        // The connection timers cover this limit with a single timer; hyper would create one per request.
        .header_read_timeout(None)
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(BUFFER_BYTES_MAX)
        .keep_alive(!slot.is_health_slot())
        .serve_connection(io, requests);
    let ending = drive(&mut connection, &timers, &mut stage).await;
    let stream = connection.into_parts().io.into_inner().stream;
    match ending {
        ConnectionEnd::Over { was_understood: true } => {}
        ConnectionEnd::Over { was_understood: false } => refusal::linger(&stream).await,
        ConnectionEnd::Stopped => metrics.connection_cut("stop"),
        ConnectionEnd::Overdue(overdue) => {
            metrics.connection_cut(overdue.as_str());
            match overdue {
                ExpiredLimit::Head { has_begun: true } => {
                    metrics.refused(ErrorCode::RequestTimeout.as_str());
                    refusal::give_up(&stream);
                }
                // Without this, the system would continue sending to a client that does not read.
                ExpiredLimit::Write => {
                    stream.set_zero_linger().ok();
                }
                ExpiredLimit::Head { has_begun: false }
                | ExpiredLimit::Body
                | ExpiredLimit::BodyForGood
                | ExpiredLimit::Idle
                | ExpiredLimit::Age => {}
            }
        }
    }
}

enum ConnectionEnd {
    /// The connection ended by itself; `was_understood` is false if the input was not HTTP.
    Over { was_understood: bool },
    /// The service stopped.
    Stopped,
    /// A limit expired.
    Overdue(ExpiredLimit),
}

async fn drive<S>(
    connection: &mut http1::Connection<TokioIo<TimedStream>, S>,
    timers: &ConnectionTimers,
    stage: &mut watch::Receiver<ShutdownStage>,
) -> ConnectionEnd
where
    S: HttpService<Incoming, ResBody = TimedResponseBody> + Unpin,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut clock = pin!(sleep(Duration::ZERO));
    loop {
        tokio::select! {
            // A request that has already arrived is accepted even during shutdown.
            biased;
            ended = &mut *connection => {
                let was_understood = !ended.is_err_and(|error| error.is_parse());
                return match was_understood && timers.is_old() {
                    true => ConnectionEnd::Overdue(ExpiredLimit::Age),
                    false => ConnectionEnd::Over { was_understood },
                };
            }
            changed = stage.changed() => {
                if changed.is_err() || *stage.borrow() == ShutdownStage::Over {
                    return ConnectionEnd::Stopped;
                }
                timers.set_last();
                Pin::new(&mut *connection).graceful_shutdown();
            }
            () = due(timers, clock.as_mut()) => match timers.overdue(Instant::now()) {
                None => {}
                // The reader of the body detects this and answers.
                Some(ExpiredLimit::Body) => timers.set_deferred(),
                Some(ExpiredLimit::Age) => {
                    timers.grow_old();
                    Pin::new(&mut *connection).graceful_shutdown();
                }
                Some(overdue) => return ConnectionEnd::Overdue(overdue),
            },
        }
    }
}

/// Waits for the next limit. The timer is reset when a limit is earlier than its deadline and when it fires too early.
/// Without any limit it fires once a minute.
async fn due(timers: &ConnectionTimers, mut clock: Pin<&mut Sleep>) {
    std::future::poll_fn(|context| {
        loop {
            let deadline = timers.deadline();
            if deadline.is_some_and(|deadline| deadline < clock.deadline()) {
                clock.as_mut().reset(deadline.unwrap_or_else(Instant::now));
            }
            ready!(clock.as_mut().poll(context));
            let now = Instant::now();
            match deadline {
                Some(deadline) if deadline <= now => return std::task::Poll::Ready(()),
                Some(deadline) => clock.as_mut().reset(deadline),
                None => clock.as_mut().reset(now + FAR),
            }
        }
    })
    .await;
}

/// Adapts the API service to hyper.
fn requests(
    api_service: ApiService,
    timers: Arc<ConnectionTimers>,
    is_health_only: bool,
    streamed: StreamedRequest,
) -> impl Service<Request<Incoming>, Response = Response<TimedResponseBody>, Error = Infallible, Future: Send>
+ Unpin {
    service_fn(move |request: Request<Incoming>| {
        let timers = Arc::clone(&timers);
        let version = request.version();
        let is_streamed = request.uri().path() == STREAMED_PATH;
        let mut request = request.map(|body| {
            if is_streamed {
                Body::new(TimedRequestBody::streamed(body, Arc::clone(&timers)))
            } else if body.is_end_stream() {
                timers.request_without_body();
                Body::empty()
            } else {
                Body::new(TimedRequestBody::new(body, Arc::clone(&timers)))
            }
        });
        if is_health_only {
            request.extensions_mut().insert(HealthOnly);
        }
        if is_streamed {
            request.extensions_mut().insert(streamed.clone());
        }
        let answer = api_service.clone().answer(request);
        async move {
            let mut answer = answer.await;
            if timers.grow_old() {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                // Without this version, hyper would promise keep-alive to an HTTP/1.0 client.
                *answer.version_mut() = version;
            }
            Ok(answer.map(|body| TimedResponseBody::new(body, timers)))
        }
    })
}
