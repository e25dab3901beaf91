//! `POST /inject/batch`
//!
//! ```text
//!  body ─▶ lines ─▶ parse ─▶ permission, judge ─▶ under way, in order ─▶ piece ─▶ pieces ─▶ response
//!    ▲                                                 │
//!    └── read on while few lines wait for an answer, and few answers for the client
//! ```
//!
//! With `history_only` the lines are stored without verdicts, many at a time.

mod lines;
mod past;

use std::future::{Future, pending, ready};
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use futures_util::stream::{self, FuturesOrdered, StreamExt as _};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};
use tollgate_model::transaction::{InjectRequest, RequestOptions};
use tollgate_pipeline::monitor::{Batch, BatchPermission, MonitorError};
use tollgate_telemetry::request_ids::RequestIds;

use super::inject::{self, INJECT_BYTES_MAX, IdempotencyKey};
use crate::body::{self, DeclaredType};
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::linger::{ANNOUNCED_BYTES_MAX, linger, linger_while_answered};
use crate::query::RequestQuery;
use crate::request_limits::{ShutdownStage, StreamedRequest};
use crate::streamed::X_ACCEL_BUFFERING;
use crate::{ApiState, openapi::schema};
use lines::{BatchLine, Lines};
use past::{BatchLineAnswer, PastLines};

/// Batches at the same time; further ones are answered with 503.
const BATCHES_MAX: usize = 4;
/// Lines of a batch that wait for an answer at the same time.
const UNDER_WAY_MAX: usize = 256;
/// Groups of lines of a batch that wait for their answers at the same time.
const GROUPS_UNDER_WAY_MAX: usize = 4;
/// Answers that wait for the client to read, in bytes; with more, no further lines are read. It is enough for a client that sends
/// 1,000 lines before it reads.
const UNREAD_BYTES_MAX: usize = 1024 * 1024;
/// Time in which the next line must arrive on a connection without a limit of its own.
const LINE_TIMEOUT: Duration = Duration::from_secs(60);

static ROOM: Semaphore = Semaphore::const_new(BATCHES_MAX);

const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

pub(crate) const ERRORS: &[ErrorCode] =
    &[ErrorCode::InvalidField, ErrorCode::RequestTimeout, ErrorCode::IncompleteBody, ErrorCode::Overloaded];

/// Evaluates many transactions, one behind the other, and answers each as soon as it is durable.
///
/// The body has one transaction on each line, as `POST /inject` takes it. The response has one line for each, in the same
/// order: the verdict that `POST /inject` would answer, or an error with the number of its `line`. Blank lines are
/// counted and have no answer. A verdict counts all transactions on earlier lines. Each line has at most 64 KiB; the
/// number of lines has no limit.
///
/// A line without `transaction_id` gets the id `KEY:LINE` from the header `Idempotency-Key` and its own number, so that the
/// whole body can be sent again. Without that header, it is an error. Lines whose answers were not read are stored, and
/// answered in the same way when they are sent again.
///
/// The service reads on only while the client reads the answers. A client that sends everything before it reads must send at
/// most 1,000 lines. The next line must arrive within `SERVICE_IDLE_TIMEOUT`; otherwise the last line of the response is
/// the error `request_timeout`. When the service stops, it is `stopping`.
///
/// With `history_only=true` the transactions are added to the history without a verdict, at their `created_at`, which each
/// must have. The answer to a line is `{"transaction_id": "txn_1", "verdict": null}`. A verdict that `POST /inject` requests
/// later, with the same transaction, counts what was accepted before the line. Settings that restrict the times of
/// transactions, or refuse duplicates, must be off.
#[utoipa::path(
    post, path = "/inject/batch", tag = "Transactions",
    request_body(content = schema::Transaction, content_type = "application/x-ndjson"),
    params((
        "history_only" = Option<bool>, Query,
        description = "`true` stores the transactions without a verdict. The default is `false`."
    ), (
        "Idempotency-Key" = Option<String>, Header, max_length = 253, pattern = r#"^[^"\\\x00-\x1f\x7f-\uffff]*$"#,
        example = "file-4711",
        description = "The beginning of the ids of lines without `transaction_id`, the same for each repetition of the body."
    )),
    responses((
        status = 200, description = "An answer for each line, until the body ends.",
        body = BatchLineAnswer, content_type = "application/x-ndjson"
    ))
)]
pub(crate) async fn inject_batch(
    State(api): State<ApiState>,
    IdempotencyKey(key): IdempotencyKey,
    streamed: Option<Extension<StreamedRequest>>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, ApiError> {
    let (head, body) = body::announced(request, &[DeclaredType::JsonLines])?;
    let begun = history_only(&api, query.as_deref()).and_then(|is_history_only| {
        let message = || format!("{BATCHES_MAX} batches are already being judged");
        let room = ROOM.try_acquire().map_err(|_| ApiError::new(ErrorCode::Overloaded, message()))?;
        Ok((is_history_only, room))
    });
    let (is_history_only, room) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            linger(&head.headers, body, ANNOUNCED_BYTES_MAX);
            let mut refusal = error.into_response();
            // The rest of the body blocks further requests on this connection.
            refusal.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            return Ok(refusal);
        }
    };
    let (sender, pieces) = mpsc::channel(1);
    let (line_timeout, stage) = match streamed {
        Some(Extension(streamed)) => (streamed.line_timeout, Some(streamed.stage)),
        None => (LINE_TIMEOUT, None),
    };
    let mut lines = Lines::new(body, INJECT_BYTES_MAX);
    timeout(line_timeout, lines.arrive()).await.unwrap_or_else(|_| Err(late(line_timeout)))?;
    let batch = api.monitor.begin_batch().await;
    let judged = JudgedBatch {
        api,
        key,
        batch,
        source: Some(LineSource { lines, line_timeout, waits_since: None, stage }),
        next: None,
        past: is_history_only.then(PastLines::default),
        under_way: FuturesOrdered::new(),
        piece: Vec::new(),
    };
    tokio::spawn(RequestIds::propagate(judged.run(sender)));
    let pieces = stream::unfold((pieces, room), |(mut pieces, room)| async move {
        match pieces.recv().await {
            Some(BatchPiece::Answers(piece)) => Some((io::Result::Ok(piece), (pieces, room))),
            Some(BatchPiece::End) => None,
            // The task has panicked. The response must not look complete.
            None => Some((Err(ErrorKind::UnexpectedEof.into()), (pieces, room))),
        }
    });
    let headers = [(header::CONTENT_TYPE, NDJSON), (X_ACCEL_BUFFERING, HeaderValue::from_static("no"))];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// Reads whether the transactions are to be stored without verdicts.
fn history_only(api: &ApiState, query: Option<&str>) -> Result<bool, ApiError> {
    const NAME: &str = "history_only";
    let query = RequestQuery::read(query, &[NAME])?;
    let is_asked = query.get(NAME, "`true` or `false`", |text| text.parse().ok())?.unwrap_or_default();
    let restriction = match api.requests.restriction_of_times() {
        Some(setting) => format!("{setting} restricts the times of transactions"),
        None if api.monitor.refuses_duplicates() => {
            "SERVICE_DEDUPLICATE_BY_HASH refuses duplicates".to_owned()
        }
        None => return Ok(is_asked),
    };
    if !is_asked {
        return Ok(false);
    }
    let message =
        format!("past transactions are stored as they are, and {restriction}; unset it to add them");
    Err(ApiError::new(ErrorCode::InvalidField, message).at(NAME))
}

/// Answers that are ready.
enum Answers {
    Verdict(Arc<str>),
    /// One or more as JSON, a line each, the last without its end.
    Lines(Vec<u8>),
}

type LineWork = Pin<Box<dyn Future<Output = Answers> + Send>>;

/// A batch that is being judged.
struct JudgedBatch {
    api: ApiState,
    key: Option<HeaderValue>,
    batch: Batch,
    /// `None` once no more lines are read.
    source: Option<LineSource>,
    /// The transaction that waits for permission, and the number of its line.
    next: Option<(InjectRequest, u64)>,
    /// The lines that wait to be stored without a verdict; `None` if verdicts are given.
    past: Option<PastLines>,
    under_way: FuturesOrdered<LineWork>,
    /// Answers that are not sent yet.
    piece: Vec<u8>,
}

/// A part of the response.
#[derive(Debug)]
enum BatchPiece {
    Answers(Bytes),
    End,
}

/// The lines of a batch, for as long as the client and the service go on.
struct LineSource {
    lines: Lines,
    line_timeout: Duration,
    /// The time from which on the client is waited for.
    waits_since: Option<Instant>,
    stage: Option<watch::Receiver<ShutdownStage>>,
}

/// The reason why no more lines are read.
#[derive(Debug, Clone, Copy)]
enum LinesEnd {
    Complete,
    Late,
    Stopping,
}

impl JudgedBatch {
    /// Judges until the lines end or the client leaves.
    ///
    /// Everything goes on at the same time: a line that waits for the answer of another, for permission or for the client must
    /// not keep the others waiting, since they may hold what it waits for.
    async fn run(mut self, pieces: mpsc::Sender<BatchPiece>) {
        while !self.is_done() {
            let reads = self.has_room() && self.piece.len() < UNREAD_BYTES_MAX;
            if let Some(source) = self.source.as_mut().filter(|_| !reads) {
                source.waits_since = None;
            }
            tokio::select! {
                biased;
                Some(answers) = self.under_way.next(), if !self.under_way.is_empty() => {
                    match answers {
                        Answers::Verdict(verdict) => self.piece.extend_from_slice(verdict.as_bytes()),
                        Answers::Lines(lines) => self.piece.extend_from_slice(&lines),
                    }
                    self.piece.push(b'\n');
                }
                room = pieces.reserve(), if !self.piece.is_empty() => match room {
                    Ok(room) => room.send(BatchPiece::Answers(std::mem::take(&mut self.piece).into())),
                    Err(_) => return,
                },
                // Before the permission, so that lines that are there become one group.
                line = next_line(&mut self.source), if reads => match line {
                    Ok(line) => self.begin(line),
                    Err(end) => self.end(end),
                },
                permission = self.batch.permission(), if self.next.is_some() => self.judge_next(permission),
                permission = self.batch.permission_of_group(),
                    if self.has_past() && self.under_way.len() < GROUPS_UNDER_WAY_MAX => self.store_next(permission),
                () = pieces.closed() => return,
            }
        }
        pieces.send(BatchPiece::End).await.ok();
    }

    fn is_done(&self) -> bool {
        self.source.is_none()
            && self.next.is_none()
            && !self.has_past()
            && self.under_way.is_empty()
            && self.piece.is_empty()
    }

    /// Returns whether one more line may be read.
    fn has_room(&self) -> bool {
        match &self.past {
            Some(past) => past.has_room() && self.under_way.len() < GROUPS_UNDER_WAY_MAX,
            None => self.next.is_none() && self.under_way.len() < UNDER_WAY_MAX,
        }
    }

    fn has_past(&self) -> bool {
        self.past.as_ref().is_some_and(|past| !past.is_empty())
    }

    /// Parses a line, which then waits for permission or has its answer.
    fn begin(&mut self, line: BatchLine) {
        let BatchLine { number, text } = line;
        if self.past.is_some() {
            let n_bytes = text.as_ref().map_or(0, Bytes::len);
            let request = text.and_then(|text| self.request_of(&text, number)).and_then(past::request_of);
            if let Some(past) = &mut self.past {
                past.push(number, request, n_bytes);
            }
            return;
        }
        match text.and_then(|text| self.request_of(&text, number)) {
            Ok(request) if request.objection.is_none() => self.next = Some((request, number)),
            Ok(request) => {
                let api = self.api.clone();
                // Only a transaction that is stored gets an answer, so it needs no turn.
                self.push(number, async move { inject::judge(&api, request).await });
            }
            Err(error) => self.push(number, ready(Err(error))),
        }
    }

    fn request_of(&self, text: &[u8], line: u64) -> Result<InjectRequest, ApiError> {
        let options = RequestOptions {
            settings: self.api.requests,
            idempotency_key: self.key.as_ref().map(HeaderValue::as_bytes),
            line: Some(line),
        };
        let request = InjectRequest::read(text, &options, self.api.monitor.now())?;
        if request.has_generated_id {
            let message = "`transaction_id` is missing; send it, or the header `Idempotency-Key`";
            return Err(ApiError::new(ErrorCode::MissingField, message).at("transaction_id"));
        }
        Ok(request)
    }

    fn judge_next(&mut self, permission: Result<BatchPermission, MonitorError>) {
        let Some((request, number)) = self.next.take() else { return };
        match permission {
            Ok(permission) => {
                inject::count(&self.api, &request);
                let answer = self.batch.judge(request.transaction, request.fingerprint, permission);
                self.push(number, answer.map(|answer| answer.map_err(ApiError::from)));
            }
            Err(error) => self.push(number, ready(Err(error.into()))),
        }
    }

    /// Stores the next group of lines without verdicts.
    fn store_next(&mut self, permission: Result<BatchPermission, MonitorError>) {
        let Some(past) = self.past.as_mut().map(std::mem::take) else { return };
        self.under_way.push_back(match permission {
            Ok(permission) => {
                Box::pin(past.store(&self.api, &mut self.batch, permission).map(Answers::Lines))
            }
            Err(error) => Box::pin(ready(Answers::Lines(past.refuse(&self.api, &error)))),
        });
    }

    fn end(&mut self, end: LinesEnd) {
        let Some(LineSource { lines, line_timeout, .. }) = self.source.take() else { return };
        let error = match end {
            LinesEnd::Complete => return,
            LinesEnd::Late => late(line_timeout),
            LinesEnd::Stopping => MonitorError::Stopping.into(),
        };
        let number = lines.number() + 1;
        match &mut self.past {
            Some(past) => past.push(number, Err(error), 0),
            None => self.push(number, ready(Err(error))),
        }
        linger_while_answered(lines.into_body());
    }

    /// Adds the work on a line, whose answer follows those of the lines before it.
    fn push(&mut self, line: u64, work: impl Future<Output = Result<Arc<str>, ApiError>> + Send + 'static) {
        let metrics = Arc::clone(&self.api.metrics);
        self.under_way.push_back(Box::pin(work.map(move |answer| match answer {
            Ok(verdict) => Answers::Verdict(verdict),
            Err(error) => {
                metrics.refused(error.code().as_str());
                Answers::Lines(error.of_line(line))
            }
        })));
    }
}

fn late(limit: Duration) -> ApiError {
    ApiError::new(ErrorCode::RequestTimeout, format!("the line took longer than {} s", limit.as_secs()))
}

/// Returns the next line, for ever none if no more are read.
async fn next_line(source: &mut Option<LineSource>) -> Result<BatchLine, LinesEnd> {
    match source {
        Some(source) => source.next().await,
        None => pending().await,
    }
}

impl LineSource {
    async fn next(&mut self) -> Result<BatchLine, LinesEnd> {
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        tokio::select! {
            biased;
            () = stopping(&mut self.stage) => Err(LinesEnd::Stopping),
            line = timeout_at(since + self.line_timeout, self.lines.next()) => {
                let line = line.map_err(|_| LinesEnd::Late)?;
                self.waits_since = None;
                line.ok_or(LinesEnd::Complete)
            }
        }
    }
}

/// Waits until the service stops.
async fn stopping(stage: &mut Option<watch::Receiver<ShutdownStage>>) {
    match stage {
        // Without its sender the service has stopped.
        Some(stage) => drop(stage.wait_for(|stage| *stage != ShutdownStage::Open).await),
        None => pending().await,
    }
}
