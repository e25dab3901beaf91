//! Timelines let go of what no question can reach any more.

use super::{LatestRun, Timeline};
use crate::spill::SeriesAccount;

impl Timeline {
    /// Lets go of every chunk without an entry later than this, in microseconds since 1970 UTC. Whether there was one.
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

    /// Lets go of the latest run too, if nothing else is left. Whether nothing is left at all.
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
