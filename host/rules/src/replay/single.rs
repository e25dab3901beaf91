//! Derives a single verdict again on request, while the service runs.
//!
//! The live history contains later status changes. The log is therefore read from its beginning into a separate,
//! bounded history, one request at a time. After every batch the audit sleeps for the time that the batch took, so that
//! verdicts do not wait for it.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, TryAcquireError};
use tollgate_model::sequence::Sequence;
use tollgate_store::Store;

use crate::replay::{Audit, AuditError, AuditFinding, AuditObserver, AuditRange, AuditRemark};

/// Maximum time for reading the log before a verdict.
const TIME_MAX: Duration = Duration::from_secs(20);
const REST_MAX: Duration = Duration::from_millis(50);

/// Derives single verdicts again. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Replays {
    audit: Arc<Audit>,
    store: Store,
    turn: Arc<Semaphore>,
}

/// The result for one verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleVerdict {
    /// The sequence number of the verdict.
    pub sequence: Sequence,
    /// The remark; `None` if the stored answer follows from the stored data.
    pub remark: Option<AuditRemark>,
}

/// The reason why a verdict cannot be derived again.
#[derive(Debug, thiserror::Error)]
pub enum SingleError {
    /// The transaction does not exist.
    #[error("there is no transaction with this id")]
    NotFound,
    /// The transaction has no verdict.
    #[error("this transaction was stored without a verdict, and none was requested")]
    NotJudged,
    /// Another request is under way.
    #[error("another verdict is being derived again; try again shortly")]
    Busy,
    /// The log is too long.
    #[error(
        "the log before this verdict is too long to be read in {} s; run `tollgate audit replay`", TIME_MAX.as_secs()
    )]
    TooLong,
    /// The audit failed.
    #[error(transparent)]
    Audit(#[from] AuditError),
}

impl Replays {
    /// Creates an instance that runs this audit.
    #[must_use]
    pub fn new(audit: Audit) -> Self {
        let store = audit.deps.store.clone();
        Self { audit: Arc::new(audit), store, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Derives the verdict on a transaction again.
    ///
    /// # Errors
    /// See [`SingleError`].
    pub async fn verdict(&self, transaction_id: &str) -> Result<SingleVerdict, SingleError> {
        let number = self.store.position_of_verdict(transaction_id).await.map_err(AuditError::from)?;
        let sequence = number.ok_or(SingleError::NotFound)?.ok_or(SingleError::NotJudged)?;
        let turn = Arc::clone(&self.turn).try_acquire_owned().map_err(|error| match error {
            TryAcquireError::NoPermits | TryAcquireError::Closed => SingleError::Busy,
        })?;
        let audit = Arc::clone(&self.audit);
        let derived = tokio::task::spawn_blocking(move || {
            // Held until the end, even if the caller is gone.
            let _turn = turn;
            let mut gentle = PacedObserver::new();
            let stretch = AuditRange { from: sequence, through: sequence };
            match audit.replay(stretch, &mut gentle)? {
                Some(_) => Ok(SingleVerdict { sequence, remark: gentle.found }),
                None => Err(SingleError::TooLong),
            }
        });
        derived.await.map_err(|_| AuditError::Reader)?
    }
}

/// Sleeps after each batch and stops the audit after [`TIME_MAX`].
struct PacedObserver {
    begun: Instant,
    rested: Instant,
    found: Option<AuditRemark>,
}

impl PacedObserver {
    fn new() -> Self {
        let now = Instant::now();
        Self { begun: now, rested: now, found: None }
    }
}

impl AuditObserver for PacedObserver {
    fn on_finding(&mut self, finding: AuditFinding) {
        self.found = Some(finding.what);
    }

    fn reached(&mut self, _: Sequence) -> bool {
        thread::sleep(self.rested.elapsed().min(REST_MAX));
        self.rested = Instant::now();
        self.begun.elapsed() < TIME_MAX
    }
}
