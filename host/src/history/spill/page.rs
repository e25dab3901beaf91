//! Words that are in memory, in the file, or in both.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::{Extent, Spill, SpillError, SpillFile};

/// Smaller ones stay in memory: their place in the file would cost as much as they do.
const SPILLED_WORDS_MIN: usize = 16;

/// Some words that never change, wherever they are.
#[derive(Debug)]
pub(in crate::history) struct Page {
    spill: Arc<Spill>,
    n_bytes: usize,
    /// What is counted besides the words.
    n_bytes_beside: usize,
    was_used: AtomicBool,
    place: Mutex<Place>,
}

// INVARIANT: at least one of them is there.
#[derive(Debug)]
struct Place {
    words: Option<Arc<[u64]>>,
    extent: Option<Extent>,
}

impl Page {
    /// In memory, for now. `n_bytes_beside` are counted with it as long as it lives.
    pub(in crate::history) fn new(spill: &Arc<Spill>, words: Box<[u64]>, n_bytes_beside: usize) -> Arc<Self> {
        let (n_words, n_bytes) = (words.len(), size_of_val(&*words));
        spill.take(n_bytes + n_bytes_beside);
        spill.n_pages.fetch_add(1, Ordering::Relaxed);
        let place = Mutex::new(Place { words: Some(words.into()), extent: None });
        let spill = Arc::clone(spill);
        let page = Arc::new(Self { spill, n_bytes, n_bytes_beside, was_used: AtomicBool::new(true), place });
        if n_words >= SPILLED_WORDS_MIN {
            page.spill.register(&page);
        }
        page
    }

    /// The words, if they are in memory.
    pub(in crate::history) fn resident(&self) -> Option<Arc<[u64]>> {
        self.was_used.store(true, Ordering::Relaxed);
        self.place.lock().words.clone()
    }

    /// The words, read back if need be.
    pub(in crate::history) fn words(self: &Arc<Self>) -> Result<Arc<[u64]>, SpillError> {
        self.was_used.store(true, Ordering::Relaxed);
        let mut place = self.place.lock();
        if let Some(words) = &place.words {
            return Ok(Arc::clone(words));
        }
        let nowhere = || SpillError { reason: "a page is nowhere".into() };
        let words = self.spill.read(place.extent.as_ref().ok_or_else(nowhere)?)?;
        place.words = Some(Arc::clone(&words));
        drop(place);
        self.spill.take(self.n_bytes);
        self.spill.register(self);
        // What is read back may push out what was not looked at for longer.
        self.spill.make_room();
        Ok(words)
    }

    /// Whether it was used since it was last asked.
    pub(super) fn is_spared(&self) -> bool {
        self.was_used.swap(false, Ordering::Relaxed)
    }

    /// Keeps the words in the file alone.
    pub(super) fn leave_memory(&self, file: &SpillFile) -> Result<(), SpillError> {
        let mut place = self.place.lock();
        let Some(words) = place.words.take() else { return Ok(()) };
        if place.extent.is_none() {
            match file.write(&words) {
                Ok(extent) => place.extent = Some(extent),
                Err(error) => {
                    place.words = Some(words);
                    return Err(error);
                }
            }
        }
        drop(place);
        self.spill.release(self.n_bytes);
        Ok(())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let place = self.place.get_mut();
        let n_words_bytes = if place.words.is_some() { self.n_bytes } else { 0 };
        self.spill.release(n_words_bytes + self.n_bytes_beside);
        self.spill.n_pages.fetch_sub(1, Ordering::Relaxed);
        if let Some(extent) = place.extent.take() {
            self.spill.free(extent);
        }
    }
}
