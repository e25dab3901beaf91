//! A cache of pieces read recently: window edges move slowly and lie in the same chunk for many queries.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Extent;

/// The memory limit divided by this is available for the cache.
const LIMIT_SHARE: usize = 16;
/// Approximate size of a piece, in bytes.
const PIECE_BYTES: usize = 1_536;
/// Maximum number of places, and maximum size of a cached piece.
const PLACES_MAX: usize = 4_096;
const PIECE_BYTES_MAX: usize = 8 * PIECE_BYTES;
/// Places per row; a piece may be in any of them.
const ROW_PLACES: usize = 8;

/// A row of places. Pieces that were requested again stay longer.
#[derive(Debug, Default)]
struct CacheRow {
    places: [Option<CachedPiece>; ROW_PLACES],
    /// First place considered for replacement.
    hand: usize,
}

#[derive(Debug)]
struct CachedPiece {
    extent: Extent,
    bytes: Arc<[u8]>,
    was_asked_again: bool,
}

/// A set-associative cache: each piece has one row where it may be.
#[derive(Debug)]
pub(super) struct PieceCache {
    rows: Box<[Mutex<CacheRow>]>,
}

impl PieceCache {
    pub(super) fn within(limit_bytes: usize) -> Self {
        let n_places = (limit_bytes / LIMIT_SHARE / PIECE_BYTES).min(PLACES_MAX);
        Self { rows: (0..n_places.div_ceil(ROW_PLACES)).map(|_| Mutex::default()).collect() }
    }

    pub(super) fn get(&self, extent: Extent) -> Option<Arc<[u8]>> {
        let mut row = self.row(extent)?.lock();
        let piece = row.places.iter_mut().flatten().find(|piece| piece.extent == extent)?;
        piece.was_asked_again = true;
        Some(Arc::clone(&piece.bytes))
    }

    /// Adds a piece in place of another; returns the bytes added and the bytes removed.
    pub(super) fn put(&self, extent: Extent, bytes: &Arc<[u8]>) -> (usize, usize) {
        let Some(row) = self.row(extent).filter(|_| bytes.len() <= PIECE_BYTES_MAX) else {
            return (0, 0);
        };
        let piece = CachedPiece { extent, bytes: Arc::clone(bytes), was_asked_again: false };
        let before = row.lock().replace_one(piece);
        (bytes.len(), before.map_or(0, |before| before.bytes.len()))
    }

    fn row(&self, extent: Extent) -> Option<&Mutex<CacheRow>> {
        let n_rows = self.rows.len() as u64;
        self.rows.get(usize::try_from(extent.checksum().checked_rem(n_rows)?).ok()?)
    }
}

impl CacheRow {
    /// Replaces the first piece that was not requested since the hand last passed it.
    fn replace_one(&mut self, piece: CachedPiece) -> Option<CachedPiece> {
        for _ in 0..=ROW_PLACES {
            let hand = self.hand;
            self.hand = (hand + 1) % ROW_PLACES;
            match self.places.get_mut(hand)? {
                Some(other) if other.was_asked_again => other.was_asked_again = false,
                place => return place.replace(piece),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spill;
    use super::*;

    #[test]
    fn a_piece_that_is_read_again_stays_in_the_cache() {
        let directory = tempfile::tempdir().unwrap();
        let spill = Spill::bounded(0, directory.path(), None).unwrap();
        let pieces: Vec<Arc<[u8]>> = (0..100_u8).map(|n| [n; 100].into()).collect();
        let extents = spill.write(&pieces).unwrap();
        let recent = PieceCache::within(ROW_PLACES * PIECE_BYTES * LIMIT_SHARE);
        assert_eq!(recent.rows.len(), 1);
        let (asked, others) = (0..2, 2..100);
        let put = |at: usize| recent.put(extents[at], &pieces[at]);
        for at in asked.clone() {
            let _ = put(at);
        }
        let mut kept_bytes = 200;
        for other in others {
            asked.clone().for_each(|at| assert_eq!(recent.get(extents[at]), Some(Arc::clone(&pieces[at]))));
            let (came, went) = put(other);
            kept_bytes = kept_bytes + came - went;
        }
        assert_eq!(kept_bytes, ROW_PLACES * 100);
        assert_eq!(PieceCache::within(0).put(extents[0], &pieces[0]), (0, 0));
    }
}
