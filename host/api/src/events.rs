//! `GET /events`

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::sse::{Event as SentEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use futures_util::stream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};
use tollgate_model::sequence::Sequence;
use utoipa::{IntoParams, ToSchema};

use super::ApiState;
use super::error::ApiError;
use super::error_code::ErrorCode;
use super::query::RequestQuery;
use super::streamed::X_ACCEL_BUFFERING;
use tollgate_pipeline::activity::{Event, Topic};

pub(super) const ERRORS: &[ErrorCode] =
    &[ErrorCode::InvalidField, ErrorCode::Stopping, ErrorCode::Unavailable];

/// Interval of the comments that show that the connection is alive.
const ALIVE_EVERY: Duration = Duration::from_secs(15);
/// The header by which a browser tells the number of the last event it got.
const LAST_EVENT_ID: &str = "last-event-id";

/// Schema for the OpenAPI document only.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct EventParameters {
    /// Topics separated by commas: `ticks`, `verdicts`, `rules`; all by default.
    #[param(example = "ticks,verdicts", pattern = "^(ticks|verdicts|rules)(,(ticks|verdicts|rules))*$")]
    topics: Option<String>,
}

/// An event.
#[derive(ToSchema)]
#[schema(as = Event)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct SentEventSchema {
    /// `tick`, `verdicts`, `rules` or `resync`.
    #[schema(example = "rules")]
    event: String,
    /// JSON.
    #[schema(example = r#"{"rule_set_version":812}"#)]
    data: String,
    /// Number of the last durable record.
    #[schema(example = "1042", nullable = false)]
    id: Option<String>,
}

/// Follows verdicts, rates and changes of the rules, as server-sent events.
///
/// | Event | Data |
/// |---|---|
/// | `tick` | `at`, `sequence`, `counts` by verdict since the last tick, `p50_us` and `p99_us` of injects or null, `in_flight`; at most four a second, and one every five seconds while nothing happens |
/// | `verdicts` | `verdicts`, at most 50 rows as of `GET /instructions/{id}/hits`: those that are not approved come first, then the latest others; `n_more`, how many are left out |
/// | `rules` | `rule_set_version`: rules or lists have changed |
/// | `resync` | nothing: events were missed, so load again what they are about |
///
/// The id of an event is the number of the last record that was durable. A client that connects again sends it as
/// `Last-Event-ID`, and gets `resync` first if there was something meanwhile. The stream ends when the connection
/// reaches its age limit or the service stops.
#[utoipa::path(
    get, path = "/events", tag = "Operation", params(EventParameters),
    responses((status = 200, description = "The events.", content_type = "text/event-stream", body = SentEventSchema))
)]
pub(super) async fn get_events(
    State(api): State<ApiState>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = RequestQuery::read(query.as_deref(), &["topics"])?;
    let topics =
        query.get("topics", "topics separated by commas: `ticks`, `verdicts`, `rules`", topics_of)?;
    let stopping = || ApiError::new(ErrorCode::Stopping, "the service is stopping");
    let receiver = api.activity.events.listen().ok_or_else(stopping)?;
    let last = api.activity.store.last_sequence().await?;
    let known = headers.get(LAST_EVENT_ID).and_then(|id: &HeaderValue| id.to_str().ok()?.parse().ok());
    let listener = EventListener {
        receiver,
        topics: topics.unwrap_or_else(|| Topic::ALL.to_vec()),
        has_missed: known.is_some_and(|known: u64| known != last.0).then_some(last),
        until: Instant::now() + api.activity.stream_age,
    };
    let stream = Sse::new(listener.stream()).keep_alive(KeepAlive::new().interval(ALIVE_EVERY));
    // A proxy must not collect events before it passes them on.
    Ok(([(header::CACHE_CONTROL, "no-store"), (X_ACCEL_BUFFERING, "no")], stream).into_response())
}

fn topics_of(text: &str) -> Option<Vec<Topic>> {
    text.split(',').map(|word| Topic::ALL.into_iter().find(|topic| topic.word() == word)).collect()
}

struct EventListener {
    receiver: Receiver<Event>,
    topics: Vec<Topic>,
    /// The number up to which the client has missed something.
    has_missed: Option<Sequence>,
    until: Instant,
}

impl EventListener {
    fn stream(self) -> impl Stream<Item = Result<SentEvent, Infallible>> {
        stream::unfold(self, |mut listener| async move {
            let event = listener.next().await?;
            Some((Ok(event), listener))
        })
    }

    async fn next(&mut self) -> Option<SentEvent> {
        if let Some(last) = self.has_missed.take() {
            return Some(resync().id(last.0.to_string()));
        }
        loop {
            match timeout_at(self.until, self.receiver.recv()).await {
                Ok(Ok(event)) if self.topics.contains(&event.topic) => {
                    let sent = SentEvent::default().event(event.topic.event()).data(&*event.data);
                    return Some(sent.id(event.sequence.0.to_string()));
                }
                Ok(Ok(_)) => {}
                Ok(Err(RecvError::Lagged(_))) => return Some(resync()),
                Ok(Err(RecvError::Closed)) | Err(_) => return None,
            }
        }
    }
}

fn resync() -> SentEvent {
    SentEvent::default().event("resync").data("{}")
}
