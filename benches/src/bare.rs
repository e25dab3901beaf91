//! A minimal durable service: an HTTP handler that reads a transaction and waits until the same store has committed it.
//! It has no history, rules, duplicate check or limits. The difference to the real service is the cost of those.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use chrono::Utc;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_store::{Store, TransactionOrigin, TransactionRecord};

/// Maximum group size, as in the service's committer.
const GROUP_MAX: usize = 512;
/// A typical assessment.
const ANSWER: &str = r#"{"transaction_id":"bench-1","verdict":"approve","score":0.0,"reason":"no rule matched","triggered":[],"rule_set_version":1,"evaluated_at":"2026-01-01T00:00:00.000000Z"}"#;

struct Arrived {
    record: TransactionRecord,
    done: oneshot::Sender<()>,
}

/// A running minimal service. Stops when dropped.
#[derive(Debug)]
pub struct Bare {
    /// Address of the listener.
    pub address: SocketAddr,
    _runtime: Runtime,
}

impl Bare {
    /// Starts the service on a free port with its store in this directory.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened or no port is free.
    pub fn start(directory: &Path) -> anyhow::Result<Self> {
        let runtime = Runtime::new()?;
        let address = runtime.block_on(async {
            let store = Store::open(directory).await?;
            let (committer, arriving) = mpsc::unbounded_channel();
            tokio::spawn(commit(store, arriving));
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let address = listener.local_addr()?;
            let router = Router::new().route("/inject", post(inject)).with_state(committer);
            tokio::spawn(async move { axum::serve(listener, router).await });
            anyhow::Ok(address)
        })?;
        Ok(Self { address, _runtime: runtime })
    }
}

async fn inject(
    State(committer): State<mpsc::UnboundedSender<Arrived>>,
    body: Bytes,
) -> (StatusCode, &'static str) {
    let Ok(record) = record(&body) else { return (StatusCode::BAD_REQUEST, "") };
    let (done, confirmed) = oneshot::channel();
    let is_taken = committer.send(Arrived { record, done }).is_ok() && confirmed.await.is_ok();
    (if is_taken { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, ANSWER)
}

fn record(body: &[u8]) -> anyhow::Result<TransactionRecord> {
    let now = Utc::now();
    let (transaction, fingerprint) = Transaction::parse(body, now).ok().context("no transaction")?;
    Ok(TransactionRecord {
        sequence: Sequence::default(),
        transaction_id: Arc::clone(&transaction.transaction_id),
        fingerprint,
        event_micros: transaction.timestamp.micros(),
        accepted_micros: now.timestamp_micros(),
        rule_set_version: 0,
        body: transaction.to_stored(),
        assessment: Some(ANSWER.to_owned()),
        origin: TransactionOrigin::Request,
    })
}

/// Commits in groups: requests that arrive during one commit form the next.
async fn commit(store: Store, mut arriving: mpsc::UnboundedReceiver<Arrived>) {
    let (mut arrived, mut last) = (Vec::with_capacity(GROUP_MAX), Sequence::default());
    while arriving.recv_many(&mut arrived, GROUP_MAX).await > 0 {
        let (mut records, mut waiting) = (Vec::new(), Vec::new());
        for Arrived { record, done } in arrived.drain(..) {
            last = last.next();
            records.push(TransactionRecord { sequence: last, ..record });
            waiting.push(done);
        }
        if store.record(&records).await.is_err() {
            return;
        }
        for done in waiting {
            // The receiver may be gone.
            done.send(()).ok();
        }
    }
}
