//! Transactions that are judged in the order in which a caller sends them, many at a time.
//!
//! ```text
//!  judge 1 ─▶ in the store? ─▶ room, its history ─▶ turn 1 ─▶ number ─▶ evaluate, commit ─▶ answer 1
//!  judge 2 ─▶ in the store? ─▶ room, its history ──▶ turn 2 ─▶ number ─▶ evaluate, commit ─▶ answer 2
//! ```
//!
//! A transaction is looked up in the store, waits for room in memory, and what its history has on the disk is read, while
//! those before it are under way. It gets its number after theirs: a verdict counts every transaction that comes before its
//! own in the batch. One whose id was under way with other content, and was then not stored, loses its place: it is judged
//! when it can be.

use std::future::{Future, ready};
use std::num::NonZeroUsize;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tollgate_model::transaction::{Fingerprint, Transaction};

use crate::monitor::group::{InFlightPermits, TransactionInFlight};
use crate::monitor::past::{PastGroup, PastTransaction};
use crate::monitor::pending::Operation;
use crate::monitor::turns::{AdmissionOrder, Turn};
use crate::monitor::{Monitor, MonitorAnswer, MonitorError, TransactionPipeline};

/// Transactions of batches in flight at most, in all batches together. With more, other transactions would wait longer for an
/// evaluation.
const BATCHED_MAX: usize = 256;
/// Groups of past transactions in flight at most, in all batches together, if nothing else is.
const GROUPS_MAX: usize = 4;

/// The transactions of one caller, judged one behind the other.
#[derive(Debug)]
pub struct Batch {
    monitor: Monitor,
    order: Arc<AdmissionOrder>,
    n_begun: u64,
}

/// Permission to judge one transaction of a batch, or to store some without a verdict.
#[derive(Debug)]
pub struct BatchPermission(InFlightPermits);

/// The permits and the turn that a transaction of a batch has before it begins; none for any other operation.
#[derive(Debug, Default)]
pub(super) struct BatchPlace {
    pub(super) permits: Option<InFlightPermits>,
    pub(super) turn: Option<Turn>,
}

impl Monitor {
    /// Begins a batch. Waits a little for the history if it is not restored yet.
    pub async fn begin_batch(&self) -> Batch {
        self.pipeline.deps.restoring.wait_a_little().await;
        Batch { monitor: self.clone(), order: Arc::default(), n_begun: 0 }
    }
}

/// Returns how many transactions of batches may be in flight, if this many of all transactions may be: half of them, so that
/// batches leave room for the others.
pub(super) fn batched_max(in_flight_max: NonZeroUsize) -> usize {
    in_flight_max.get().div_ceil(2).min(BATCHED_MAX)
}

impl Batch {
    /// Returns the permission to judge one more transaction, once fewer than the limit are in flight.
    ///
    /// # Errors
    /// [`MonitorError::Stopping`].
    pub fn permission(&self) -> impl Future<Output = Result<BatchPermission, MonitorError>> + Send + use<> {
        self.permission_of(1)
    }

    /// Returns the permission to store a group of past transactions, once fewer than [`GROUPS_MAX`] are in flight.
    ///
    /// # Errors
    /// [`MonitorError::Stopping`].
    pub fn permission_of_group(
        &self,
    ) -> impl Future<Output = Result<BatchPermission, MonitorError>> + Send + use<> {
        let n_permits = batched_max(self.monitor.pipeline.deps.in_flight_max).div_ceil(GROUPS_MAX);
        self.permission_of(u32::try_from(n_permits).unwrap_or(1))
    }

    fn permission_of(
        &self,
        n_permits: u32,
    ) -> impl Future<Output = Result<BatchPermission, MonitorError>> + Send + use<> {
        let TransactionPipeline { permits, batch_permits, .. } = &*self.monitor.pipeline;
        let (permits, batch_permits) = (Arc::clone(permits), Arc::clone(batch_permits));
        async move {
            let of_batches =
                batch_permits.acquire_many_owned(n_permits).await.map_err(|_| MonitorError::Stopping)?;
            let in_flight = permits.acquire_owned().await.map_err(|_| MonitorError::Stopping)?;
            Ok(BatchPermission(InFlightPermits { _in_flight: in_flight, _of_batches: Some(of_batches) }))
        }
    }

    /// Begins to judge the next transaction, as [`Monitor::judge`] does. The future waits for the answer, and all of a batch must
    /// be polled at the same time. A transaction that has its number is completed even if its future is dropped.
    ///
    /// # Errors
    /// The future returns a [`MonitorError`], but never [`MonitorError::Overloaded`].
    pub fn judge(
        &mut self,
        transaction: Transaction,
        fingerprint: Fingerprint,
        permission: BatchPermission,
    ) -> impl Future<Output = MonitorAnswer> + Send + use<> {
        let place = self.begin();
        self.judge_at(place, transaction, fingerprint, permission)
    }

    /// Takes the next place, counted from 0.
    const fn begin(&mut self) -> u64 {
        self.n_begun += 1;
        self.n_begun - 1
    }

    /// Begins to store the next transactions without a verdict, in this order. The future waits until they are durable, and
    /// all of a batch must be polled at the same time. It returns an answer for each.
    pub fn record(
        &mut self,
        past: Vec<PastTransaction>,
        permission: BatchPermission,
    ) -> impl Future<Output = Vec<Result<(), MonitorError>>> + Send + use<> {
        let (place, pipeline) = (self.begin(), Arc::clone(&self.monitor.pipeline));
        let turn = self.order.turn(place);
        let counted = pipeline.deps.metrics.count_in_flight();
        let permits = Arc::new(TransactionInFlight { _permits: permission.0, _counted: counted });
        // They are under way from here on, before any that comes after them.
        let group = PastGroup::begin(&pipeline, past);
        group.store(pipeline, turn, permits)
    }

    /// Begins to judge the transaction at this place, counted from 0.
    pub(super) fn judge_at(
        &self,
        place: u64,
        transaction: Transaction,
        fingerprint: Fingerprint,
        permission: BatchPermission,
    ) -> impl Future<Output = MonitorAnswer> + Send + use<> {
        let turn = self.order.turn(place);
        let monitor = self.monitor.clone();
        let mut judging = Box::pin(async move {
            let (id, transaction) = (Arc::clone(&transaction.transaction_id), Arc::new(transaction));
            let work = |pipeline: Arc<TransactionPipeline>, waiting| pipeline.judge(transaction, waiting);
            let place = BatchPlace { permits: Some(permission.0), turn: Some(turn) };
            monitor.run(&id, Operation::Judge(fingerprint), place, work).await
        });
        // It begins here, before any that comes after it, so that the first of two with one id is the one that is judged.
        match (&mut judging).now_or_never() {
            Some(answer) => ready(answer).left_future(),
            None => judging.right_future(),
        }
    }
}
