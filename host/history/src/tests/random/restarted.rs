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
        self.history = limited(&self.archive, 0, self.spill_dir.path(), self.lets_keys_leave);
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

#[test]
fn restarted_histories_answer_as_the_reference_does() {
    let (mut n_from_snapshot, mut n_read) = (0, 0);
    for seed in 0..n_stories() / 3 {
        println!("seed {seed}");
        let mut story = Story::new(seed + 1_000_000);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("snapshot");
        story.ask_something_new();
        for round in 0..3 {
            let n_rows = story.n_rows(300);
            story.admit(n_rows);
            story.settle();
            // The last round uses the file of the one before it.
            if round < 2 {
                story.bring_all_back();
                story.history.write_snapshot(&file, None, &|| true).unwrap();
            }
            story.admit(10);
            story.settle();
            let (snapshot, read) = story.restart_from(&file);
            (n_from_snapshot, n_read) = (n_from_snapshot + snapshot, n_read + read);
            story.compare(40);
        }
    }
    println!("{n_from_snapshot} transactions from snapshots, {n_read} read, 0 differences");
    assert!(n_from_snapshot > 1_000 && n_read > 1_000);
}
