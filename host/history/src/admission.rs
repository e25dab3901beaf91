//! State under the admission lock: the next number, steps that are not durable yet, and the attached series.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::change::{ChangeStep, StatusChange};
use crate::past::PastItem;
use crate::series::{PreparedRows, Series};
use crate::spill::SpillError;

#[derive(Debug, Default)]
pub(super) struct Admission {
    last: Sequence,
    /// Everything up to this number is durable and can be read from the store.
    settled: Sequence,
    n_transactions: usize,
    n_retractions: u64,
    // INVARIANT: holds every step with a number above `settled`, and above the lowest of `wanted_after`; in order.
    recent: VecDeque<(Sequence, ChangeStep)>,
    /// Series in the last round of being filled, by address: the number up to which each reads the store.
    wanted_after: Vec<(usize, Sequence)>,
    // INVARIANT: every series holds exactly the transactions accepted and not retracted.
    live: Vec<Weak<Series>>,
    /// Event time from which queries come, in microseconds since 1970 UTC; `None` before anything was discarded.
    reached_from: Option<i64>,
    bench: PreparedRows,
}

/// The durable part of the history.
#[derive(Debug)]
pub(super) struct SettledPart {
    /// Last durable sequence number.
    pub(super) through: Sequence,
    pub(super) n_transactions: u64,
    /// Attached series. Each holds all these transactions, and perhaps later ones.
    pub(super) series: Vec<Arc<Series>>,
    pub(super) n_retractions: u64,
}

/// Data to drop after the admission lock is released, because freeing a large series takes long.
#[must_use]
#[derive(Debug, Default)]
pub(super) struct DetachedSeries {
    series: Vec<Arc<Series>>,
    _settled: Vec<(Sequence, ChangeStep)>,
}

impl Admission {
    pub(super) const fn last(&self) -> Sequence {
        self.last
    }

    /// Returns the number of transactions accepted and not retracted.
    pub(super) const fn n_transactions(&self) -> usize {
        self.n_transactions
    }

    pub(super) fn n_series(&self) -> usize {
        self.live.iter().filter(|series| series.strong_count() > 0).count()
    }

    pub(super) fn series(&self) -> Vec<Arc<Series>> {
        self.live.iter().filter_map(Weak::upgrade).collect()
    }

    /// Records the event time, in microseconds since 1970 UTC, from which queries come. Returns the series.
    pub(super) fn reach_from(&mut self, before: i64) -> Vec<Arc<Series>> {
        self.reached_from = Some(before);
        self.series()
    }

    pub(super) const fn reached_from(&self) -> Option<i64> {
        self.reached_from
    }

    /// Returns whether an update up to this number is not durable yet.
    pub(super) fn has_unsettled_update(&self, through: Sequence) -> bool {
        let is_unsettled = |sequence: Sequence| sequence > self.settled && sequence <= through;
        self.recent.iter().any(|(sequence, step)| is_unsettled(*sequence) && !step.is_accepted())
    }

    pub(super) const fn n_retractions(&self) -> u64 {
        self.n_retractions
    }

    pub(super) fn settled_part(&self) -> SettledPart {
        let unsettled = self.recent.iter().rev().take_while(|(sequence, _)| *sequence > self.settled);
        let n_unsettled = unsettled.filter(|(_, step)| step.is_accepted()).count();
        SettledPart {
            through: self.settled,
            n_transactions: (self.n_transactions - n_unsettled) as u64,
            series: self.series(),
            n_retractions: self.n_retractions,
        }
    }

    /// Records that every series holds everything up to this number and that all of it is durable.
    pub(super) fn restored(&mut self, through: Sequence, n_transactions: usize) {
        self.last = self.last.max(through);
        self.settled = through;
        self.n_transactions = n_transactions;
    }

    pub(super) const fn take_number(&mut self) -> Sequence {
        self.last = self.last.next();
        self.last
    }

    /// Adds a transaction that is not durable yet. Its number must be higher than all before.
    pub(super) fn insert(&mut self, sequence: Sequence, transaction: Arc<Transaction>) -> DetachedSeries {
        // Recorded first, so that a retraction undoes it even after a panic.
        self.n_transactions += 1;
        self.recent.push_back((sequence, ChangeStep::Accepted(Arc::clone(&transaction))));
        self.insert_into_series(sequence, &transaction)
    }

    /// Adds an update that is not durable yet. Its number must be higher than all before.
    pub(super) fn update(&mut self, sequence: Sequence, change: Arc<StatusChange>) -> DetachedSeries {
        // Recorded first, as in `insert`.
        self.recent.push_back((sequence, ChangeStep::Updated(Arc::clone(&change))));
        self.for_each_series(|series| {
            series.replace_transaction(change.target, &change.before, &change.after);
        })
    }

    /// Adds a durable step. Its number must be higher than all before.
    pub(super) fn restore(&mut self, item: PastItem<'_>) -> DetachedSeries {
        let sequence = item.sequence();
        self.last = self.last.max(sequence);
        self.settled = sequence;
        self.n_transactions += usize::from(matches!(item, PastItem::Accepted { .. }));
        if !self.wanted_after.is_empty() {
            self.recent.push_back((sequence, ChangeStep::of(item)));
        }
        match item {
            PastItem::Accepted { transaction, .. } => self.insert_into_series(sequence, transaction),
            PastItem::Updated { .. } => self.for_each_series(|series| item.apply(series)),
        }
    }

    /// Marks everything up to this number as durable.
    pub(super) fn settle(&mut self, through: Sequence) -> DetachedSeries {
        self.settled = self.settled.max(through);
        DetachedSeries { _settled: self.forget_settled(), ..DetachedSeries::default() }
    }

    /// Retracts everything with this number or a higher one that is not durable.
    pub(super) fn retract_from(&mut self, first: Sequence) -> DetachedSeries {
        let first = first.max(self.settled.next());
        self.n_retractions += 1;
        let n_kept = self.recent.partition_point(|(sequence, _)| *sequence < first);
        let gone = self.recent.split_off(n_kept);
        self.n_transactions -= gone.iter().filter(|(_, step)| step.is_accepted()).count();
        self.for_each_series(|series| {
            // Newest first: an update is undone before the step it was applied to.
            gone.iter().rev().for_each(|(sequence, step)| step.shown(*sequence).undo(series));
        })
    }

    /// Marks numbers up to this one as taken by an earlier process.
    pub(super) fn resume_at(&mut self, last: Sequence) {
        self.last = self.last.max(last);
    }

    /// Returns the number up to which the store is complete.
    pub(super) const fn settled(&self) -> Sequence {
        self.settled
    }

    /// Retains every step above this number from now on, durable or not, for a series that is being filled.
    pub(super) fn want_after(&mut self, series: &Arc<Series>, after: Sequence) {
        self.wanted_after.push((address_of(series), after));
    }

    /// Stops retaining steps for a series. Returns the number from which they were retained.
    fn want_no_more(&mut self, series: &Arc<Series>) -> Option<Sequence> {
        let place = self.wanted_after.iter().position(|(address, _)| *address == address_of(series))?;
        Some(self.wanted_after.swap_remove(place).1)
    }

    /// Returns the steps that are retained for a series.
    pub(super) fn retained_for(&self, series: &Arc<Series>) -> Vec<(Sequence, ChangeStep)> {
        let wanted = self.wanted_after.iter().find(|(address, _)| *address == address_of(series));
        let Some((_, seen)) = wanted else { return Vec::new() };
        self.recent.iter().filter(|(sequence, _)| sequence > seen).cloned().collect()
    }

    /// Applies the retained steps to the series that was filled beside another, exchanges their tables, and attaches the
    /// other.
    ///
    /// # Errors
    /// When rows that change cannot be read. The other series stays as it is.
    pub(super) fn finish_filling(
        &mut self,
        series: &Arc<Series>,
        filled: &Series,
    ) -> Result<DetachedSeries, SpillError> {
        let seen = self.want_no_more(series).unwrap_or_default();
        for (sequence, step) in self.recent.iter().filter(|(sequence, _)| *sequence > seen) {
            let is_unsettled_update = *sequence > self.settled && !step.is_accepted();
            filled.note_update(is_unsettled_update.then_some(*sequence));
            step.shown(*sequence).apply(filled);
            if let Some(error) = filled.doubt() {
                filled.note_update(None);
                return Err(error);
            }
        }
        filled.note_update(None);
        series.exchange_table(filled);
        self.live.retain(|live| live.strong_count() > 0 && !std::ptr::eq(live.as_ptr(), Arc::as_ptr(series)));
        self.live.push(Arc::downgrade(series));
        series.mark_attached();
        Ok(DetachedSeries { _settled: self.forget_settled(), ..DetachedSeries::default() })
    }

    /// Stops retaining steps after a failed fill.
    pub(super) fn give_up_filling(&mut self, series: &Arc<Series>) -> DetachedSeries {
        self.want_no_more(series);
        DetachedSeries { _settled: self.forget_settled(), ..DetachedSeries::default() }
    }

    fn forget_settled(&mut self) -> Vec<(Sequence, ChangeStep)> {
        let up_to = self.wanted_after.iter().map(|(_, wanted)| *wanted).fold(self.settled, Sequence::min);
        let n_gone = self.recent.partition_point(|(sequence, _)| *sequence <= up_to);
        self.recent.drain(..n_gone).collect()
    }

    fn insert_into_series(&mut self, sequence: Sequence, transaction: &Transaction) -> DetachedSeries {
        let mut series: Vec<Arc<Series>> = self.live.iter().filter_map(Weak::upgrade).collect();
        Series::insert_into_all(&series, &mut self.bench, sequence, transaction);
        series.retain(|series| Arc::strong_count(series) == 1);
        DetachedSeries { series, ..DetachedSeries::default() }
    }

    fn for_each_series(&self, mut change: impl FnMut(&Series)) -> DetachedSeries {
        let mut orphans = DetachedSeries::default();
        for series in self.live.iter().filter_map(Weak::upgrade) {
            change(&series);
            if Arc::strong_count(&series) == 1 {
                orphans.series.push(series);
            }
        }
        orphans
    }
}

fn address_of(series: &Arc<Series>) -> usize {
    Arc::as_ptr(series).addr()
}
