//! History on the disk: what a transaction needs is read before it is accepted, and other history leaves memory for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout_at};
use tollgate_history::MemoryUse;
use tollgate_model::transaction::Transaction;

use crate::monitor::TransactionPipeline;

/// Number of transactions whose history is read at the same time. Each takes a thread, whose stack and allocations take
/// memory that the history lacks; more do not make the disk faster.
pub(super) const READ_AT_ONCE: usize = 16;
/// Maximum time that a transaction waits for others: for room in memory, and for its turn to read.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

impl TransactionPipeline {
    /// Reads the history of a transaction that is on the disk before others wait for it. What cannot be read fails the
    /// rules that ask for it. Waits for others until the deadline, and a second at most for the disk.
    pub(super) async fn prepare_history(&self, transaction: &Arc<Transaction>, deadline: Instant) {
        if !self.deps.history.must_read(transaction) {
            return;
        }
        let permit = timeout_at(deadline, Arc::clone(&self.reading).acquire_owned()).await.ok();
        let (history, transaction) = (Arc::clone(&self.deps.history), Arc::clone(transaction));
        let read = move || {
            history.prepare(&transaction);
            drop(permit);
        };
        spawn_blocking(read).await.ok();
    }

    /// Makes room for a transaction before it is accepted. It waits for that, until the deadline, only while memory use is far
    /// above the limit.
    pub(super) async fn make_room(&self, deadline: Instant) {
        if !self.deps.restoring.is_done() {
            return;
        }
        match self.deps.history.memory_use() {
            MemoryUse::Within => {}
            MemoryUse::Above => {
                if let Ok(turn) = Arc::clone(&self.room).try_lock_owned() {
                    self.let_keys_leave(turn);
                }
            }
            MemoryUse::FarAbove => {
                // On the heap, because it is rare and the future of each transaction would be longer.
                Box::pin(timeout_at(deadline, self.wait_for_room())).await.ok();
            }
        }
    }

    async fn wait_for_room(&self) {
        let turn = Arc::clone(&self.room).lock_owned().await;
        if self.deps.history.memory_use() == MemoryUse::FarAbove {
            self.let_keys_leave(turn).await.ok();
        }
    }

    /// Lets a few keys leave memory, on a thread that may wait for the disk.
    fn let_keys_leave(&self, turn: OwnedMutexGuard<()>) -> JoinHandle<()> {
        let history = Arc::clone(&self.deps.history);
        spawn_blocking(move || {
            history.make_some_room();
            drop(turn);
        })
    }
}
