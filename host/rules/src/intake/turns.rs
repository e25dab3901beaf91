//! Turns of the owners of rules over the API: each takes part in the queues for a save and for a fill once, whatever
//! number of requests it sends.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use parking_lot::Mutex;

use crate::intake::IntakeError;

/// Turns by owner.
#[derive(Debug)]
pub(super) struct OwnerTurns {
    quota: Quota,
    by_owner: Mutex<HashMap<Arc<str>, Arc<OwnerTurn>>>,
}

/// The turns of one owner.
#[derive(Debug)]
pub(super) struct OwnerTurn {
    rate: DefaultDirectRateLimiter,
    /// Held while a rule is compiled, estimated and reserved.
    pub(super) save: tokio::sync::Mutex<()>,
    /// Held while the history is filled for a rule, or waits for that.
    pub(super) fill: tokio::sync::Mutex<()>,
}

impl OwnerTurns {
    pub(super) fn new(saves_per_minute: NonZeroU32) -> Self {
        Self { quota: Quota::per_minute(saves_per_minute), by_owner: Mutex::default() }
    }

    /// Returns the turns of an owner.
    pub(super) fn turn_of(&self, owner: &Arc<str>) -> Arc<OwnerTurn> {
        let mut by_owner = self.by_owner.lock();
        let turn = by_owner.entry(Arc::clone(owner)).or_insert_with(|| {
            let (save, fill) = Default::default();
            Arc::new(OwnerTurn { rate: RateLimiter::direct(self.quota), save, fill })
        });
        Arc::clone(turn)
    }
}

impl OwnerTurn {
    /// Counts a save.
    ///
    /// # Errors
    /// [`IntakeError::TooManySaves`].
    pub(super) fn check_rate(&self) -> Result<(), IntakeError> {
        self.rate
            .check()
            .map_err(|until| IntakeError::TooManySaves(until.wait_time_from(DefaultClock::default().now())))
    }
}
