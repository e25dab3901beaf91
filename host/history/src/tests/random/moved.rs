//! Entries that move between key tables, and entries that change.

use super::*;
use crate::key::ExportKey;
use crate::timeline::TimelineRuns;

impl Story {
    /// Brings all keys into memory, from which alone series are exported.
    pub(super) fn bring_all_back(&self) {
        if let Some(residency) = self.history.spill.residency() {
            residency.bring_all_back();
        }
    }

    /// Exports every series into a new key table, which replaces the old one.
    pub(super) fn move_to_copy(&mut self) {
        self.bring_all_back();
        self.history.each_series(|series| {
            let mut key_table = series.empty_key_table(series.columns());
            let (mut next, n_keys) = (Some(usize::MAX), 1 + self.dice.below(5));
            while let Some(end) = next {
                let mut import = |key: &ExportKey, runs: &TimelineRuns| {
                    let key = ExportKey::from_bytes(key.to_bytes()).unwrap();
                    key_table.import(&key, &runs.entries());
                };
                next = series.export(end, n_keys, &|_| true, &mut import).unwrap();
            }
            series.replace(key_table);
        });
    }

    /// Replaces some transactions by others, once or twice; the second time changes nothing.
    pub(super) fn change_some(&mut self) {
        for _ in 0..self.dice.below(10) {
            if self.reference.rows.is_empty() {
                return;
            }
            let index = self.dice.below(self.reference.rows.len());
            let (sequence, old) = self.reference.rows[index].clone();
            let status = any_word(&mut self.dice).map(Arc::from);
            let new = Arc::new(Transaction { status, ..Transaction::clone(&old) });
            for _ in 0..=self.dice.below(2) {
                self.history.each_series(|series| series.replace_transaction(sequence, &old, &new));
            }
            self.changed.push((sequence, old, Arc::clone(&new)));
            self.reference.rows[index].1 = new;
        }
    }

    /// Undoes these changes, which neither the durable steps nor a retraction include.
    pub(super) fn change_back(&mut self) {
        while let Some((sequence, old, new)) = self.changed.pop() {
            self.history.each_series(|series| series.replace_transaction(sequence, &new, &old));
            let row = self.reference.rows.iter_mut().find(|(other, _)| *other == sequence);
            row.unwrap().1 = old;
        }
    }
}
