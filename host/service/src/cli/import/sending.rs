//! Sends rows in one batch and takes their answers.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::mpsc::Receiver;
use tokio::time::{sleep, timeout};
use tollgate_api::is_temporary;
use tollgate_links::outbound::{
    HeaderName, HeaderValue, PeerAddress, StreamedBody, StreamedError, StreamedResponse, TrustStore,
    post_streamed,
};

use super::row::ImportRow;

/// Time in which the answer to a row that was sent must arrive.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause between two looks at rows that are not sent, which have no answer.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// Rows that wait for an answer, at most.
const AWAITED_MAX: usize = 100_000;
/// Bytes that are sent together.
const PIECE_BYTES: usize = 64 * 1024;
/// Statuses of a response after which the same request may succeed later.
const TEMPORARY: [u16; 5] = [408, 429, 502, 503, 504];

/// The outcome of a row that was stored without a verdict.
const STORED: &str = "stored";

/// The message about a row without an id, if there is no key.
pub(super) const NO_ID: &str = "`transaction_id` is missing; send it, or add --key";

const CONTENT_TYPE: (HeaderName, HeaderValue) =
    (HeaderName::from_static("content-type"), HeaderValue::from_static("application/x-ndjson"));
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The service that judges the rows.
pub(super) struct Destination {
    pub(super) trust: TrustStore,
    pub(super) address: PeerAddress,
    /// Whether it stores the rows without verdicts.
    pub(super) is_history_only: bool,
    /// The beginning of the ids of rows without one.
    pub(super) key: Option<HeaderValue>,
}

/// A row that has its answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SettledRow {
    pub(super) number: u64,
    pub(super) line: u64,
    /// The verdict or [`STORED`], or why it was refused.
    pub(super) outcome: Result<String, String>,
}

/// The end of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BatchEnd {
    Complete,
    /// Rows have no answer. They may be sent again.
    Interrupted(String),
    /// Rows have no answer, and would have none if they were sent again.
    Impossible(String),
}

/// A row whose answer has not arrived.
#[derive(Debug)]
struct AwaitedRow {
    number: u64,
    line: u64,
    /// Why it was not sent.
    unsent: Option<String>,
}

/// A line of the response.
#[derive(Debug, Deserialize)]
struct BatchAnswer {
    transaction_id: Option<String>,
    verdict: Option<String>,
    error: Option<String>,
    code: Option<String>,
    field: Option<String>,
    line: Option<u64>,
}

type AwaitedRows = Mutex<VecDeque<AwaitedRow>>;

/// Sends rows until there are no more, and takes their answers in the same order.
///
/// Blank lines stand for rows that are not sent. With a key they also stand for those before the first one: a row is then the line
/// of the batch that has its number, and an id that the service makes of the key and the line is the same whenever it is sent.
pub(super) async fn send(
    destination: &Destination,
    mut rows: Receiver<Vec<ImportRow>>,
    mut settle: impl FnMut(SettledRow),
) -> BatchEnd {
    // The connection is idle until rows are there.
    let Some(first) = rows.recv().await else { return BatchEnd::Complete };
    let mut headers = vec![CONTENT_TYPE];
    headers.extend(destination.key.clone().map(|key| (IDEMPOTENCY_KEY, key)));
    let connected =
        timeout(PATIENCE, post_streamed(&destination.trust, &destination.address, &headers)).await;
    let (body, response) = match connected {
        Ok(Ok(request)) => request,
        Ok(Err(error)) => return BatchEnd::Interrupted(error.to_string()),
        Err(_) => return BatchEnd::Interrupted("the connection takes too long".to_owned()),
    };
    let n_before = match (&destination.key, first.first()) {
        (None, Some(first)) => first.number - 1,
        _ => 0,
    };
    let awaited = AwaitedRows::default();
    let mut sending = pin!(send_rows(body, first, rows, n_before, &awaited));
    let mut receiving = pin!(receive(destination, response, n_before, &awaited, &mut settle));
    let (end, is_sent) = tokio::select! {
        end = &mut receiving => (end, false),
        is_sent = &mut sending => (receiving.await, is_sent),
    };
    if end == BatchEnd::Complete && !(is_sent && awaited.lock().is_empty()) {
        return BatchEnd::Interrupted("the response ended before all answers".to_owned());
    }
    end
}

/// Sends rows as lines, the first of which follows this number of rows. Returns whether all were sent.
async fn send_rows(
    mut body: StreamedBody,
    first: Vec<ImportRow>,
    mut rows: Receiver<Vec<ImportRow>>,
    n_before: u64,
    awaited: &AwaitedRows,
) -> bool {
    let (mut piece, mut n_lines) = (Vec::new(), n_before);
    let mut next = Some(first);
    while let Some(some) = next {
        for ImportRow { number, line, content } in some {
            while n_lines + 1 < number {
                piece.push(b'\n');
                n_lines += 1;
                if piece.len() >= PIECE_BYTES && !body.send(std::mem::take(&mut piece).into()).await {
                    return false;
                }
            }
            let unsent = match content {
                Ok(json) if json.is_empty() => continue,
                Ok(json) => {
                    piece.extend_from_slice(&json);
                    None
                }
                Err(why) => Some(why),
            };
            piece.push(b'\n');
            n_lines += 1;
            awaited.lock().push_back(AwaitedRow { number, line, unsent });
            if piece.len() >= PIECE_BYTES && !body.send(std::mem::take(&mut piece).into()).await {
                return false;
            }
        }
        while awaited.lock().len() > AWAITED_MAX {
            sleep(BETWEEN_LOOKS).await;
        }
        next = match rows.try_recv() {
            Ok(some) => Some(some),
            Err(_) => {
                if !piece.is_empty() && !body.send(std::mem::take(&mut piece).into()).await {
                    return false;
                }
                rows.recv().await
            }
        };
    }
    true
}

async fn receive(
    destination: &Destination,
    response: impl Future<Output = Result<StreamedResponse, StreamedError>>,
    n_before: u64,
    awaited: &AwaitedRows,
    settle: &mut impl FnMut(SettledRow),
) -> BatchEnd {
    let mut response = match timeout(PATIENCE, response).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return BatchEnd::Interrupted(error.to_string()),
        Err(_) => return late(),
    };
    let status = response.status();
    if status != 200 {
        let text = timeout(PATIENCE, response.into_text()).await.unwrap_or_default();
        let message = format!("the service answered with status {status}: {}", text.trim());
        return if TEMPORARY.contains(&status) {
            BatchEnd::Interrupted(message)
        } else {
            BatchEnd::Impossible(message)
        };
    }
    let (mut rest, mut waits_since) = (Vec::new(), Instant::now());
    loop {
        match timeout(BETWEEN_LOOKS, response.next()).await {
            Ok(Ok(Some(piece))) => {
                rest.extend_from_slice(&piece);
                waits_since = Instant::now();
            }
            Ok(Ok(None)) => break,
            Ok(Err(error)) => return BatchEnd::Interrupted(error.to_string()),
            Err(_) => {
                settle_unsent(awaited, settle);
                if awaited.lock().is_empty() {
                    waits_since = Instant::now();
                }
                if waits_since.elapsed() > PATIENCE {
                    return late();
                }
                continue;
            }
        }
        let end = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        for line in
            rest.get(..end).unwrap_or_default().split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
        {
            if let Err(end) = settle_next(line, destination, n_before, awaited, settle) {
                return end;
            }
        }
        rest.drain(..end);
    }
    settle_unsent(awaited, settle);
    BatchEnd::Complete
}

fn late() -> BatchEnd {
    BatchEnd::Interrupted(format!("no answer within {} s", PATIENCE.as_secs()))
}

/// Settles the row that a line of the response is about.
fn settle_next(
    line: &[u8],
    destination: &Destination,
    n_before: u64,
    awaited: &AwaitedRows,
    settle: &mut impl FnMut(SettledRow),
) -> Result<(), BatchEnd> {
    let foreign = || BatchEnd::Impossible(format!("no answer of a batch: {}", String::from_utf8_lossy(line)));
    let answer: BatchAnswer = serde_json::from_slice(line).map_err(|_| foreign())?;
    settle_unsent(awaited, settle);
    let outcome = match answer {
        BatchAnswer { verdict: Some(_), .. } if destination.is_history_only => {
            let message =
                "the service judges rows that are to be stored without a verdict; it is an older version";
            return Err(BatchEnd::Impossible(message.to_owned()));
        }
        BatchAnswer { verdict: Some(verdict), .. } => Ok(verdict),
        BatchAnswer { error: Some(error), code: Some(code), .. } if is_temporary(&code) => {
            return Err(BatchEnd::Interrupted(error));
        }
        BatchAnswer { error: Some(_), code: Some(code), field: Some(field), .. }
            if (&*code, &*field) == ("missing_field", "transaction_id") =>
        {
            Err(NO_ID.to_owned())
        }
        BatchAnswer { error: Some(error), .. } => Err(error),
        BatchAnswer { transaction_id: Some(_), .. } if destination.is_history_only => Ok(STORED.to_owned()),
        BatchAnswer { .. } => return Err(foreign()),
    };
    let AwaitedRow { number, line, .. } = awaited.lock().pop_front().ok_or_else(foreign)?;
    if answer.line.is_some_and(|answered| answered + n_before != number) {
        return Err(foreign());
    }
    settle(SettledRow { number, line, outcome });
    Ok(())
}

/// Settles the rows that were not sent, up to the next one that was.
fn settle_unsent(awaited: &AwaitedRows, settle: &mut impl FnMut(SettledRow)) {
    loop {
        let Some(AwaitedRow { number, line, unsent: Some(why) }) =
            awaited.lock().pop_front_if(|first| first.unsent.is_some())
        else {
            return;
        };
        settle(SettledRow { number, line, outcome: Err(why) });
    }
}
