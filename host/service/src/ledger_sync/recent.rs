//! Rows that were seen lately, so that the overlap costs little.

use std::collections::HashSet;

/// Most rows remembered, some 40 MiB. What is beyond is asked of the store, as it is after a start.
const ROWS_MAX: usize = 1_000_000;

/// Half of a row's digest: chance does not make two alike, and whoever may write rows gains nothing by trying.
type RowDigest = [u8; 16];

/// The rows of the last pass, and of the one under way.
#[derive(Debug, Default)]
pub(super) struct RecentRows {
    last: HashSet<RowDigest>,
    current: HashSet<RowDigest>,
}

impl RecentRows {
    /// Whether this very row was done.
    pub(super) fn knows(&self, digest: &[u8; 32]) -> bool {
        mark(digest).is_some_and(|mark| self.last.contains(mark) || self.current.contains(mark))
    }

    /// It is done.
    pub(super) fn remember(&mut self, digest: &[u8; 32]) {
        if self.current.len() >= ROWS_MAX {
            // The latest are those that the next pass begins with.
            self.current.clear();
        }
        self.current.extend(mark(digest));
    }

    /// A pass saw every row that the next one will see again.
    pub(super) fn end_pass(&mut self) {
        self.last = std::mem::take(&mut self.current);
    }
}

fn mark(digest: &[u8; 32]) -> Option<&RowDigest> {
    digest.first_chunk()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_known_as_long_as_every_pass_sees_it() {
        let (mut recent, row) = (RecentRows::default(), [7; 32]);
        assert!(!recent.knows(&row));
        recent.remember(&row);
        assert!(recent.knows(&row));
        recent.end_pass();
        assert!(recent.knows(&row) && !recent.knows(&[8; 32]));
        recent.end_pass();
        assert!(!recent.knows(&row));
    }
}
