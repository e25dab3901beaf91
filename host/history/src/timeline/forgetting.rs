//! Discarding of entries that no query can reach.

use super::{LatestRun, Timeline};
use crate::spill::SeriesAccount;

impl Timeline {
    /// Discards every chunk without an entry after `through`, in microseconds since 1970 UTC. Returns whether there was
    /// one.
    pub(crate) fn forget(&mut self, through: i64, account: &mut SeriesAccount) -> bool {
        let Some(more) = &mut self.more else { return false };
        let mut has_forgotten = false;
        while let Some(first) = more.root.first_end().filter(|end| end.0 <= through)
            && let Some(chunk) = more.root.take(first, account)
        {
            chunk.discard(account);
            has_forgotten = true;
        }
        if has_forgotten {
            more.root.shrink(account);
        }
        has_forgotten
    }

    /// Discards the latest run too, if nothing else is left. Returns whether it did. The caller must then drop the key,
    /// which releases a run in memory.
    pub(crate) fn forget_latest(&mut self, account: &mut SeriesAccount) -> bool {
        if self.more.as_ref().is_some_and(|more| !more.root.is_empty() || !more.lost.is_empty()) {
            return false;
        }
        if let LatestRun::Away(extent) = self.latest {
            account.free(extent);
            self.latest = LatestRun::Here(Vec::new());
        }
        true
    }
}
