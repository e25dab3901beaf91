//! Traces of requests, for a collector of OpenTelemetry.
//!
//! ```text
//!  request ──begin──▶ RequestSpan ──▶ evaluation, commit ──queue of the SDK──▶ batches ──OTLP over HTTP──▶ collector
//! ```
//!
//! The SDK decides which traces are sampled, and drops spans when its queue is full: no request waits for a collector.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_http::{Bytes, HeaderExtractor, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tollgate_links::outbound::{PeerAddress, PeerAddressError, Post, Protocol, TrustError, TrustStore};
use tollgate_model::background::in_background;
use tollgate_model::secret::Secret;

use crate::metrics::Metrics;

/// Path of traces below the address of a collector, by the standard.
const PATH: &str = "/v1/traces";
/// Time limit of one export.
const EXPORT_TIME_MAX: Duration = Duration::from_secs(10);
/// Time that a stop leaves for the last export.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);
/// Least time between two log lines about failed exports.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Methods that give a span its name; others could be anything.
const METHODS: [&str; 7] = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];
const OTHER_METHOD: &str = "HTTP";
const SERVICE_NAME: &str = "service.name";
/// Beginning of the name that the SDK gives to a service without one.
const UNNAMED: &str = "unknown_service";

/// Exports spans of requests.
#[derive(Debug, Clone)]
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// The span of a request that is being answered. Copies share it, and it ends with the last one.
#[derive(Debug, Clone)]
pub struct RequestSpan(Arc<TracedRequest>);

#[derive(Debug)]
struct TracedRequest {
    context: Context,
    tracer: SdkTracer,
}

/// The span of a part of a request; it ends when it is dropped.
#[derive(Debug)]
pub struct PartSpan {
    _span: Box<Span>,
}

/// The reason why traces cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// The address is invalid.
    #[error("`OTEL_EXPORTER_OTLP_ENDPOINT` cannot be used: {0}")]
    Address(#[from] PeerAddressError),
    /// No authorities for TLS are available.
    #[error("`OTEL_EXPORTER_OTLP_ENDPOINT` cannot be used: {0}")]
    Trust(#[from] TrustError),
    /// A variable of the SDK is invalid.
    #[error("traces cannot be exported: {0}")]
    Exporter(#[from] ExporterBuildError),
}

impl Traces {
    /// Starts to export to this collector.
    ///
    /// # Errors
    /// See [`TracesError`].
    pub fn start(endpoint: &Secret, metrics: &Arc<Metrics>) -> Result<Self, TracesError> {
        let url = format!("{}{PATH}", endpoint.expose().trim_end_matches('/'));
        let address = PeerAddress::read(&Secret::new(url), None, Protocol::Http)?;
        let uri = address.uri().to_string();
        let client = ExportClient {
            post: Arc::new(Post::new(TrustStore::of_the_system()?, EXPORT_TIME_MAX)),
            address,
            runtime: Handle::current(),
            metrics: Arc::clone(metrics),
            logged: Mutex::default(),
        };
        let exporter =
            SpanExporter::builder().with_http().with_endpoint(uri).with_http_client(client).build()?;
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource()).build();
        let tracer = provider.tracer("tollgate");
        Ok(Self { provider, tracer })
    }

    /// Begins the span of a request, as part of the trace that its `traceparent` names. Without a route it is named by
    /// the method alone: paths that nobody serves would make any number of names.
    pub fn begin<B>(&self, request: &Request<B>, route: Option<&'static str>) -> RequestSpan {
        let parent = TraceContextPropagator::new().extract(&HeaderExtractor(request.headers()));
        let (method, path) = (request.method().as_str(), request.uri().path());
        let known = METHODS.iter().find(|known| **known == method).copied().unwrap_or(OTHER_METHOD);
        let name = route.map_or_else(|| known.to_owned(), |route| format!("{known} {route}"));
        let attributes = [
            Some(KeyValue::new("http.request.method", method.to_owned())),
            Some(KeyValue::new("url.path", path.to_owned())),
            route.map(|route| KeyValue::new("http.route", route)),
        ];
        let span = self.tracer.span_builder(name).with_kind(SpanKind::Server);
        let span = span.with_attributes(attributes.into_iter().flatten());
        let span = span.start_with_context(&self.tracer, &parent);
        RequestSpan(Arc::new(TracedRequest { context: parent.with_span(span), tracer: self.tracer.clone() }))
    }

    /// Exports what is queued, and stops.
    pub async fn stop(self) {
        let stopped = in_background(move || self.provider.shutdown_with_timeout(STOP_TIME_MAX)).await;
        if let Ok(Err(error)) = stopped {
            tracing::warn!(%error, "the last traces could not be exported");
        }
    }
}

impl RequestSpan {
    /// Returns the id of the trace, in hexadecimal digits.
    pub(crate) fn trace_id(&self) -> String {
        self.0.context.span().span_context().trace_id().to_string()
    }

    /// Records a part of the request that has taken this long and ends now.
    pub fn record(&self, name: &'static str, duration: Duration) {
        let end = SystemTime::now();
        let TracedRequest { context, tracer } = &*self.0;
        let part = tracer.span_builder(name).with_start_time(end.checked_sub(duration).unwrap_or(end));
        drop(part.start_with_context(tracer, context));
    }

    /// Begins a part of the request.
    pub fn part(&self, name: &'static str) -> PartSpan {
        PartSpan { _span: Box::new(self.0.tracer.start_with_context(name, &self.0.context)) }
    }

    /// Ends the span with the id of the request and the status of its answer.
    pub fn end(self, request_id: &str, status: u16) {
        let span = self.0.context.span();
        span.set_attribute(KeyValue::new("tollgate.request_id", request_id.to_owned()));
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
        if status >= 500 {
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

/// Returns the resource that the environment describes; the service is called `tollgate` unless that names it.
fn resource() -> Resource {
    let described = Resource::builder().build();
    let name = described.get(&SERVICE_NAME.into());
    let is_named =
        name.is_some_and(|name| !matches!(&name, Value::String(name) if name.as_str().starts_with(UNNAMED)));
    let builder =
        Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    if is_named { builder.build() } else { builder.with_service_name("tollgate").build() }
}

/// Sends exports over the connections that all links use.
struct ExportClient {
    post: Arc<Post>,
    address: PeerAddress,
    /// The SDK exports on a thread of its own.
    runtime: Handle,
    metrics: Arc<Metrics>,
    /// When a failure was last logged.
    logged: Mutex<Option<Instant>>,
}

impl ExportClient {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (post, address) = (Arc::clone(&self.post), self.address.clone());
        let (head, body) = request.into_parts();
        let sent = self.runtime.spawn(async move { post.post(&address, head.headers, body).await }).await;
        let answer = sent.map_err(HttpError::from).and_then(|answer| answer.map_err(HttpError::from));
        let failure = match &answer {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("status {}", answer.status().as_u16())),
            Err(error) => Some(error.to_string()),
        };
        self.metrics.traces_exported(failure.is_none());
        if let Some(failure) = failure {
            self.log(&failure);
        }
        answer
    }

    fn log(&self, failure: &str) {
        let mut logged = self.logged.lock();
        if logged.is_none_or(|last| last.elapsed() >= LOG_INTERVAL) {
            *logged = Some(Instant::now());
            tracing::warn!(collector = %self.address, error = failure, "traces cannot be exported");
        }
    }
}

impl HttpClient for ExportClient {
    fn send_bytes<'client, 'sent>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sent>>
    where
        'client: 'sent,
        Self: 'sent,
    {
        Box::pin(self.send(request))
    }
}

impl fmt::Debug for ExportClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExportClient").field("address", &self.address).finish_non_exhaustive()
    }
}
