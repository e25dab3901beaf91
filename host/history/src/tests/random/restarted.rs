//! Restarts: from a snapshot, from an older one, and with other queries than before.

use tollgate_guest_abi::Semantics;

use super::*;
use crate::RestorationObserver;

struct Unwatched;

impl RestorationObserver for Unwatched {
    fn reached(&self, _through: Sequence) -> bool {
        true
    }
}

impl Story {
    /// Restarts from the durable steps and a snapshot. Some queries are gone, others are new.
    fn restart_from(&mut self, file: &Path) -> (u64, u64) {
        let last = self.archive.last();
        self.begin_anew();
        self.history.resume_at(last);
        let n_forgotten = self.dice.below(4);
        self.aggregates.drain(..n_forgotten.min(self.aggregates.len()));
        for (spec, question) in &mut self.aggregates {
            *question = self.history.aggregate(spec, Semantics::CURRENT).unwrap();
        }
        for (spec, question) in &mut self.previous {
            *question = self.history.previous(spec, Semantics::CURRENT).unwrap();
        }
        if self.dice.one_in(2) || self.aggregates.is_empty() || self.previous.is_empty() {
            self.ask_something_new();
        }
        let restored = self.history.restore_all(&*self.archive, last, Some(file), &Unwatched);
        let restored = restored.unwrap().unwrap();
        assert!(restored.refused.is_none(), "{:?}", restored.refused);
        self.keep_before(last.next());
        assert_eq!(restored.n_transactions as usize, self.reference.rows.len());
        (restored.n_from_snapshot, restored.n_read)
    }
}

/// Restarts histories, the last time from the snapshot of the restart before. Returns the transactions from snapshots and
/// those that were read.
fn check_restarts(seeds: impl Iterator<Item = u64>) -> (u64, u64) {
    let (mut n_from_snapshot, mut n_read) = (0, 0);
    for seed in seeds {
        println!("seed {seed}");
        let mut story = Story::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("snapshot");
        story.ask_something_new();
        for round in 0..3 {
            let n_rows = story.n_rows(300);
            story.admit(n_rows);
            story.update(n_rows / 10);
            story.settle_all();
            let n_unsettled = story.dice.below(3);
            story.admit(n_unsettled);
            if round < 2 {
                story.history.write_snapshot(&file, None, &|| true).unwrap();
            }
            story.admit(10);
            story.update(3);
            story.settle();
            let (snapshot, read) = story.restart_from(&file);
            (n_from_snapshot, n_read) = (n_from_snapshot + snapshot, n_read + read);
            story.compare(40);
        }
    }
    println!("{n_from_snapshot} transactions from snapshots, {n_read} read, 0 differences");
    (n_from_snapshot, n_read)
}

#[test]
fn restarted_histories_answer_as_the_reference_does() {
    let (n_from_snapshot, n_read) = check_restarts((0..n_stories() / 3).map(|seed| seed + 1_000_000));
    assert!(n_from_snapshot > 1_000 && n_read > 1_000);
}

#[test]
fn histories_of_which_keys_are_on_the_disk_answer_after_a_restart_as_the_reference_does() {
    let seeds = (0..n_stories() / 15).map(|seed| (seed + 100_000) * KEYS_LEAVE_SHARE);
    let (n_from_snapshot, n_read) = check_restarts(seeds);
    assert!(n_from_snapshot > 400 && n_read > 100);
}
