//! Recently seen rows, which make reading the overlap cheap.

use std::collections::HashSet;

/// Maximum number of rows remembered, about 40 MiB. Other rows are looked up in the store, as after a start.
const ROWS_MAX: usize = 1_000_000;

/// Half of a row's digest. Collisions do not happen by chance, and an author of rows gains nothing by finding one.
type RowDigest = [u8; 16];

#[derive(Debug, Default)]
pub(super) struct RecentRows {
    last: HashSet<RowDigest>,
    current: HashSet<RowDigest>,
}

impl RecentRows {
    /// Returns whether exactly this row was taken before.
    pub(super) fn knows(&self, digest: &[u8; 32]) -> bool {
        mark(digest).is_some_and(|mark| self.last.contains(mark) || self.current.contains(mark))
    }

    pub(super) fn remember(&mut self, digest: &[u8; 32]) {
        if self.current.len() >= ROWS_MAX {
            // The next pass begins with the latest rows, so those are the ones to keep.
            self.current.clear();
        }
        self.current.extend(mark(digest));
    }

    /// Ends a pass: every row that the next pass sees again is in it.
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
