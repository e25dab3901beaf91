//! One verdict derived again for whoever asks, while the service goes on.
//!
//! The live history cannot tell: a status that changed since is another in it. So the log is read from its beginning into a
//! history of its own, within bounds, and never more than one at a time; after every step it rests as long as that took, so
//! that verdicts do not wait for it.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, TryAcquireError};
use tollgate_model::sequence::Sequence;
use tollgate_store::Store;

use crate::audit::{Audit, AuditError, AuditFinding, AuditObserver, AuditRange, AuditRemark};

/// What the log before a verdict may take to be read.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Longest rest after a step.
const REST_MAX: Duration = Duration::from_millis(50);

/// Derives single verdicts again. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Replays {
    audit: Arc<Audit>,
    store: Store,
    turn: Arc<Semaphore>,
}

/// A verdict, and what there is to say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleVerdict {
    /// Its place in the order of acceptance.
    pub sequence: Sequence,
    /// `None` when all of it follows from what is stored.
    pub remark: Option<AuditRemark>,
}

/// Why nobody can say.
#[derive(Debug, thiserror::Error)]
pub enum SingleError {
    /// There is no such transaction.
    #[error("there is no transaction with this id")]
    NotFound,
    /// It has no verdict.
    #[error("a ledger fed this transaction, and nobody has asked for a verdict on it")]
    NotJudged,
    /// Another one is under way.
    #[error("another verdict is being derived again; try again shortly")]
    Busy,
    /// It takes too long.
    #[error(
        "the log before this verdict is longer than can be read in {} s; run `tollgate audit replay`", TIME_MAX.as_secs()
    )]
    TooLong,
    /// It cannot be done.
    #[error(transparent)]
    Audit(#[from] AuditError),
}

impl Replays {
    /// By this audit, of what this store holds.
    #[must_use]
    pub fn of(audit: Audit) -> Self {
        let store = audit.deps.store.clone();
        Self { audit: Arc::new(audit), store, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Derives the verdict on a transaction again.
    ///
    /// # Errors
    /// See [`SingleError`].
    pub async fn verdict(&self, transaction_id: &str) -> Result<SingleVerdict, SingleError> {
        let place = self.store.place_of_verdict(transaction_id).await.map_err(AuditError::from)?;
        let sequence = place.ok_or(SingleError::NotFound)?.ok_or(SingleError::NotJudged)?;
        let turn = Arc::clone(&self.turn).try_acquire_owned().map_err(|error| match error {
            TryAcquireError::NoPermits | TryAcquireError::Closed => SingleError::Busy,
        })?;
        let audit = Arc::clone(&self.audit);
        let derived = tokio::task::spawn_blocking(move || {
            // Held to the end, also when nobody waits for it any more.
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

/// Rests, and ends what takes too long.
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
    fn hears(&mut self, finding: AuditFinding) {
        self.found = Some(finding.what);
    }

    fn reached(&mut self, _: Sequence) -> bool {
        thread::sleep(self.rested.elapsed().min(REST_MAX));
        self.rested = Instant::now();
        self.begun.elapsed() < TIME_MAX
    }
}
