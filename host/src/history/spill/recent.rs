//! What was read lately: the edge of a window moves slowly, and lies in the same chunk for many questions.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Extent;

/// The share of the limit that may go to this.
const LIMIT_SHARE: usize = 32;
/// What a piece takes, about.
const PIECE_BYTES: usize = 1_536;
/// No more places than this, and no pieces larger than the most.
const PLACES_MAX: usize = 4_096;
const PIECE_BYTES_MAX: usize = 8 * PIECE_BYTES;

/// One piece, or none yet.
type Place = Mutex<Option<(Extent, Arc<[u8]>)>>;

/// Some pieces of the file, each in the one place where it may be.
#[derive(Debug)]
pub(super) struct Recent {
    places: Box<[Place]>,
}

impl Recent {
    pub(super) fn within(limit_bytes: usize) -> Self {
        let n_places = (limit_bytes / LIMIT_SHARE / PIECE_BYTES).min(PLACES_MAX);
        Self { places: (0..n_places).map(|_| Mutex::default()).collect() }
    }

    pub(super) fn get(&self, extent: Extent) -> Option<Arc<[u8]>> {
        let place = self.place(extent)?.lock();
        let (held, bytes) = place.as_ref()?;
        (*held == extent).then(|| Arc::clone(bytes))
    }

    /// Keeps a piece in place of another; how many bytes came and how many went.
    pub(super) fn put(&self, extent: Extent, bytes: &Arc<[u8]>) -> (usize, usize) {
        let Some(place) = self.place(extent).filter(|_| bytes.len() <= PIECE_BYTES_MAX) else {
            return (0, 0);
        };
        let before = place.lock().replace((extent, Arc::clone(bytes)));
        (bytes.len(), before.map_or(0, |(_, bytes)| bytes.len()))
    }

    fn place(&self, extent: Extent) -> Option<&Place> {
        let n_places = self.places.len() as u64;
        self.places.get(usize::try_from(extent.checksum().checked_rem(n_places)?).ok()?)
    }
}
