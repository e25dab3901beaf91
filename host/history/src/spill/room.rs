//! Room for what comes: what was not used recently leaves memory when the limit is exceeded.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::MutexGuard;

use super::{FRAGMENTS_SHARE, LEAVING_BYTES_MAX, Spill, SpillLimit, SpillSource, SpillTurn};
use crate::History;
use crate::anchor::Anchor;
use crate::residency::Departure;

/// Maximum number of rounds over all series in one call, so that it ends.
const ROUNDS_MAX: usize = 16;
/// Maximum number of steps in one call that lets others come between them.
const STEPS_MAX: usize = 1_024;
/// The limit divided by this is the room that is freed at once; the next attempt waits until it is used up.
const LIMIT_SHARE: usize = 64;
/// The limit divided by this is how far memory use may exceed what is allowed before it is far above it.
const FAR_SHARE: usize = 32;

/// The memory use of a history, compared with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryUse {
    /// It is within the limit, or nothing can leave memory.
    Within,
    /// It is a little above the limit. Something should leave memory, but nobody need wait for that.
    Above,
    /// It is far above the limit. What takes more memory should wait until something has left.
    FarAbove,
}

/// Owners of memory, in the order in which they spill.
#[derive(Debug, Default)]
pub(super) struct SpillOrder {
    sources: VecDeque<Weak<dyn SpillSource>>,
    /// Number of the last sources in a row of which nothing could leave.
    n_in_vain: usize,
}

/// Whether an attempt to make room goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptState {
    GoesOn,
    /// There is enough room, or nothing more can leave.
    Ended,
}

impl History {
    /// Compares the memory use with the limit.
    #[must_use]
    pub fn memory_use(&self) -> MemoryUse {
        self.spill.memory_use()
    }

    /// Moves out of memory what was not used recently, if the limit is exceeded. Returns at once while another thread does
    /// it.
    pub fn make_room(&self) {
        self.spill.make_room();
    }

    /// Moves a small part of what was not used recently out of memory, if the limit is exceeded. Waits while another thread
    /// does it.
    pub fn make_some_room(&self) {
        self.spill.make_some_room();
    }

    /// Returns whether memory use is at most a fifth above the limit; spills first if necessary. `false` means that the
    /// spill file cannot take the excess; nothing more should be admitted then.
    #[must_use]
    pub fn has_room(&self) -> bool {
        if self.spill.has_room() {
            return true;
        }
        self.spill.make_room();
        self.spill.has_room()
    }
}

impl SpillOrder {
    /// Adds a source, and drops those that are gone.
    pub(super) fn add(&mut self, source: Weak<dyn SpillSource>) {
        self.sources.retain(|source| source.strong_count() > 0);
        self.sources.push_back(source);
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = Arc<dyn SpillSource>> + '_ {
        self.sources.iter().filter_map(Weak::upgrade)
    }

    fn next(&mut self) -> Option<Arc<dyn SpillSource>> {
        while let Some(weak) = self.sources.pop_front() {
            if let Some(source) = weak.upgrade() {
                self.sources.push_back(weak);
                return Some(source);
            }
        }
        None
    }
}

impl Spill {
    /// Returns whether memory use is at most a fifth above the limit.
    pub(crate) fn has_room(&self) -> bool {
        self.bound.as_ref().is_none_or(|bound| {
            self.resident_bytes() <= bound.limit_bytes.saturating_add(bound.limit_bytes / 5)
        })
    }

    /// Returns whether memory use is at most a tenth above the limit. A series that is filled is given up beyond that, so
    /// that there is still [room](Self::has_room) for transactions.
    pub(crate) fn has_room_to_fill(&self) -> bool {
        self.bound.as_ref().is_none_or(|bound| {
            self.resident_bytes() <= bound.limit_bytes.saturating_add(bound.limit_bytes / 10)
        })
    }

    pub(crate) fn memory_use(&self) -> MemoryUse {
        let Some(bound) = &self.bound else { return MemoryUse::Within };
        let resident = self.resident_bytes();
        bound.allowed.look(resident);
        if self.excess(bound) == 0 {
            MemoryUse::Within
        } else if resident <= bound.allowed.get() + bound.limit_bytes / FAR_SHARE {
            MemoryUse::Above
        } else {
            MemoryUse::FarAbove
        }
    }

    /// Spills what was not used recently, until the limit is met or nothing more can be spilled. Call this without a
    /// lock that queries need.
    pub(crate) fn make_room(&self) {
        let Some(bound) = &self.bound else { return };
        bound.allowed.look(self.resident_bytes());
        if self.excess(bound) == 0 {
            return;
        }
        // Another thread is already doing this.
        let Some(mut order) = bound.order.try_lock() else { return };
        order.n_in_vain = 0;
        for _ in 0..ROUNDS_MAX * order.sources.len() {
            if self.spill_next(bound, &mut order) == AttemptState::Ended {
                return;
            }
        }
    }

    /// Does the same as [`Self::make_room`], and waits for another thread that is doing it: whoever fills a series must not
    /// be faster than that. Others come between two series.
    pub(crate) fn make_room_in_turn(&self) {
        let mut n_steps = 0;
        while n_steps < STEPS_MAX && self.make_some_room() == AttemptState::GoesOn {
            n_steps += 1;
        }
    }

    /// Lets these anchors leave memory, but those that transactions used lately. One that cannot be written stays.
    pub(crate) fn let_leave(&self, anchors: &[Anchor]) {
        let (Some(bound), Some(residency)) = (&self.bound, self.residency()) else { return };
        if !residency.has_records() {
            return;
        }
        let order = bound.order.lock();
        let mut n_bytes = 0;
        for anchor in anchors {
            match residency.leave(self, *anchor) {
                Ok(Departure::Left(n_more)) => n_bytes += n_more,
                Ok(Departure::InUse | Departure::TooLong) => {}
                // The next attempt to make room meets the same, and logs it.
                Err(_) => break,
            }
        }
        residency.clean(n_bytes);
        MutexGuard::unlock_fair(order);
    }

    /// Spills from one series after the other until a little has left, if the limit is exceeded. Waits for another thread
    /// that is doing it.
    pub(crate) fn make_some_room(&self) -> AttemptState {
        let Some(bound) = &self.bound else { return AttemptState::Ended };
        bound.allowed.look(self.resident_bytes());
        if self.excess(bound) == 0 {
            return AttemptState::Ended;
        }
        let mut order = bound.order.lock();
        let before = self.resident_bytes();
        let mut state = AttemptState::GoesOn;
        for _ in 0..order.sources.len() {
            state = self.spill_next(bound, &mut order);
            if state == AttemptState::Ended || self.resident_bytes() < before {
                break;
            }
        }
        MutexGuard::unlock_fair(order);
        state
    }

    /// Lets nothing be spilled until the returned value is dropped.
    pub(crate) fn pause(&self) -> Option<impl Drop + '_> {
        self.bound.as_ref().map(|bound| bound.order.lock())
    }

    /// Forgets that an attempt to free memory failed, because what is in memory is different now.
    pub(crate) fn attempt_anew(&self) {
        if let Some(bound) = &self.bound {
            bound.in_vain.clear();
        }
    }

    /// Spills from the next source, unless there is enough room.
    fn spill_next(&self, bound: &SpillLimit, order: &mut SpillOrder) -> AttemptState {
        let excess = self.excess(bound);
        if excess == 0 {
            order.n_in_vain = 0;
            return AttemptState::Ended;
        }
        let is_in_vain = match order.next().map(|source| source.let_go(excess.min(LEAVING_BYTES_MAX))) {
            Some(Ok(SpillTurn::GoesOn)) => {
                order.n_in_vain = 0;
                return AttemptState::GoesOn;
            }
            Some(Ok(SpillTurn::InVain)) => {
                order.n_in_vain += 1;
                order.n_in_vain >= order.sources.len()
            }
            Some(Err(error)) => {
                tracing::error!(error = %error, "the history cannot leave memory");
                true
            }
            None => true,
        };
        if !is_in_vain {
            return AttemptState::GoesOn;
        }
        order.n_in_vain = 0;
        self.gave_up(bound);
        AttemptState::Ended
    }

    /// Returns the number of bytes to free; 0 while an attempt would fail.
    fn excess(&self, bound: &SpillLimit) -> usize {
        let resident = self.resident_bytes();
        let allowed = bound.allowed.get();
        if resident <= allowed || bound.in_vain.covers(resident) {
            return 0;
        }
        let over = resident - (allowed - bound.limit_bytes / LIMIT_SHARE);
        // Freeing memory also reduces the estimate of what the allocator leaves unused.
        over - over / (FRAGMENTS_SHARE + 1)
    }

    fn gave_up(&self, bound: &SpillLimit) {
        let resident = self.resident_bytes();
        if resident > bound.allowed.get() {
            bound.in_vain.mark(resident + bound.limit_bytes / LIMIT_SHARE / 4);
        } else {
            bound.in_vain.clear();
        }
    }
}
