//! Random histories, compared with the reference implementation.

mod dice;
mod moved;
mod restarted;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tempfile::TempDir;
use tollgate_guest_abi::{AggregateSpec, PreviousSpec, Semantics};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::change::ChangeStep;
use crate::reference::ReferenceHistory;
use crate::{
    AggregateBatch, AggregateQuery, History, Past, PastError, PastItem, PastSummary, PreviousQuery,
    StatusChange,
};

use dice::{Dice, WORDS, any_aggregate, any_previous, any_transaction, any_word};

#[derive(Debug, Default)]
struct Archive {
    steps: Mutex<Vec<(Sequence, ChangeStep)>>,
}

impl Archive {
    fn last(&self) -> Sequence {
        self.steps.lock().last().map_or(Sequence::default(), |(sequence, _)| *sequence)
    }
}

impl Past for Archive {
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        let steps = self.steps.lock();
        let asked = steps.iter().filter(|(sequence, _)| *sequence > after && *sequence <= through);
        asked.for_each(|(sequence, step)| show(step.shown(*sequence)));
        Ok(())
    }

    fn testimony(&self, through: Sequence) -> Result<Option<PastSummary>, PastError> {
        let steps = self.steps.lock();
        let last = steps.iter().rev().find(|(sequence, _)| *sequence <= through);
        let last = last.map_or(Sequence::default(), |(sequence, _)| *sequence);
        Ok(Some(PastSummary { store: [7; 16], last, rows: [0; 32] }))
    }
}

/// In one history of so many, whole keys leave memory.
const KEYS_LEAVE_SHARE: u64 = 15;

/// A history under test, and its reference.
struct Story {
    dice: Dice,
    lets_keys_leave: bool,
    n_words: usize,
    span: usize,
    history: History,
    archive: Arc<Archive>,
    spill_dir: TempDir,
    /// Directory of the records of keys on the disk.
    records: TempDir,
    /// Steps accepted and not retracted.
    steps: Vec<(Sequence, ChangeStep)>,
    reference: ReferenceHistory,
    lists: HashMap<String, NamedList>,
    aggregates: Vec<(AggregateSpec, Arc<AggregateQuery>)>,
    previous: Vec<(PreviousSpec, Arc<PreviousQuery>)>,
    changed: Vec<(Sequence, Arc<Transaction>, Arc<Transaction>)>,
    n_lookups: usize,
    n_found: usize,
    /// Number of answers from batches.
    n_told: usize,
    spilled_bytes_max: u64,
}

/// Returns an empty history; with a directory for their records, whole keys leave memory.
fn limited(past: &Arc<Archive>, limit_bytes: usize, directory: &Path, records: Option<&Path>) -> History {
    let history = History::over(Arc::<Archive>::clone(past));
    match records {
        Some(records) => history.bounded_with_keys(limit_bytes, directory, records).unwrap(),
        None => history.bounded(limit_bytes, directory).unwrap(),
    }
}

impl Story {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let known = ["alice", "0042", "true"].map(str::to_owned);
        let (n_words, span) = (dice.pick(&[1, 2, WORDS.len()]), dice.pick(&[2, 60, 300]));
        let archive = Arc::<Archive>::default();
        let (spill_dir, records) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // Little or nothing fits: what was not just used is spilled, and whole keys leave.
        let limit_bytes = dice.pick(&[0, 0, 20_000, 60_000]);
        // There are few accounts: where keys leave, every payment moves a large part of the history.
        let lets_keys_leave = seed.is_multiple_of(KEYS_LEAVE_SHARE);
        let leaves_to = lets_keys_leave.then(|| records.path());
        let history = limited(&archive, limit_bytes, spill_dir.path(), leaves_to);
        Self {
            dice,
            lets_keys_leave,
            n_words,
            span,
            history,
            archive,
            spill_dir,
            records,
            steps: Vec::new(),
            reference: ReferenceHistory {
                rows: Vec::new(),
                lists: HashMap::from([("known".into(), known.to_vec())]),
            },
            lists: HashMap::from([("known".into(), known.iter().collect())]),
            aggregates: Vec::new(),
            previous: Vec::new(),
            changed: Vec::new(),
            n_lookups: 0,
            n_found: 0,
            n_told: 0,
            spilled_bytes_max: 0,
        }
    }

    /// Returns a number of rows: few, some or many. Of many, all would leave and come back with each of them.
    fn n_rows(&mut self, n_many: usize) -> usize {
        if self.lets_keys_leave { self.dice.pick(&[10, 60]) } else { self.dice.pick(&[10, 60, n_many]) }
    }

    fn ask_something_new(&mut self) {
        for _ in 0..8 {
            let spec = any_aggregate(&mut self.dice);
            self.aggregates.push((spec.clone(), self.history.aggregate(&spec, Semantics::CURRENT).unwrap()));
        }
        for _ in 0..2 {
            let spec = any_previous(&mut self.dice);
            self.previous.push((spec.clone(), self.history.previous(&spec, Semantics::CURRENT).unwrap()));
        }
    }

    fn admit(&mut self, n_rows: usize) {
        for _ in 0..n_rows {
            let row = any_transaction(&mut self.dice, self.n_words, self.span);
            let sequence = self.history.admit(Arc::clone(&row), |sequence| sequence);
            self.take_note(sequence, ChangeStep::Accepted(row));
        }
    }

    /// Updates the status of some rows, several at once.
    fn update(&mut self, n_updates: usize) {
        let n_rows = self.reference.rows.len();
        for _ in 0..n_updates {
            let (target, row) = self.reference.rows[self.dice.below(n_rows)].clone();
            let (mut changes, mut before) = (Vec::new(), (*row).clone());
            for _ in 0..=self.dice.below(2) {
                let after = before.with_status(any_word(&mut self.dice));
                changes.push(StatusChange { target, before, after: after.clone() });
                before = after;
            }
            let numbers = self.history.update(changes.clone(), |sequence| sequence);
            for (sequence, change) in numbers.into_iter().zip(changes) {
                self.take_note(sequence, ChangeStep::Updated(Arc::new(change)));
            }
        }
    }

    fn take_note(&mut self, sequence: Sequence, step: ChangeStep) {
        self.reference.apply(step.shown(sequence));
        self.steps.push((sequence, step));
    }

    fn settle(&mut self) {
        let Some((through, _)) = self.steps.get(self.dice.below(self.steps.len() + 1)) else { return };
        let known = self.archive.last();
        let new = self.steps.iter().filter(|(sequence, _)| *sequence > known && sequence <= through);
        self.archive.steps.lock().extend(new.cloned());
        self.history.settle(*through);
    }

    /// Makes everything durable.
    fn settle_all(&mut self) {
        let known = self.archive.last();
        let new = self.steps.iter().filter(|(sequence, _)| *sequence > known);
        self.archive.steps.lock().extend(new.cloned());
        self.history.settle(self.archive.last());
    }

    fn take_back(&mut self) {
        let oldest = self.history.last_sequence().0.saturating_sub(self.dice.below(40) as u64);
        // Durable steps are not retracted.
        let first = Sequence(oldest).max(self.archive.last().next());
        self.history.retract_from(first);
        self.keep_before(first);
    }

    /// Replaces the history by an empty one over the durable steps.
    fn begin_anew(&mut self) {
        let records = self.lets_keys_leave.then(|| self.records.path());
        self.history = limited(&self.archive, 0, self.spill_dir.path(), records);
    }

    /// Replaces the history by one that is restored from the durable steps.
    fn restart(&mut self) {
        self.begin_anew();
        self.aggregates.clear();
        self.previous.clear();
        self.ask_something_new();
        let last = self.archive.last();
        self.history.resume_at(last);
        self.archive
            .each_after(Sequence::default(), last, &mut |item| self.history.restore_item(item))
            .unwrap();
        self.keep_before(last.next());
    }

    fn keep_before(&mut self, first: Sequence) {
        self.steps.retain(|(sequence, _)| *sequence < first);
        self.reference.rows.clear();
        self.steps.iter().for_each(|(sequence, step)| self.reference.apply(step.shown(*sequence)));
        assert_eq!(self.history.len(), self.reference.rows.len());
    }

    fn compare(&mut self, n_lookups: usize) {
        self.n_lookups += n_lookups;
        self.spilled_bytes_max = self.spilled_bytes_max.max(self.history.spilled_bytes());
        for _ in 0..n_lookups {
            let current = match self.reference.rows.len() {
                0 => any_transaction(&mut self.dice, self.n_words, self.span),
                _ if self.dice.one_in(4) => any_transaction(&mut self.dice, self.n_words, self.span),
                n_rows => Arc::clone(&self.reference.rows[self.dice.below(n_rows)].1),
            };
            let last = self.history.last_sequence().0;
            let as_of = match self.dice.below(3) {
                0 => Sequence(self.dice.below(last as usize + 2) as u64),
                _ => Sequence(last + 1),
            };
            if self.dice.one_in(5) {
                let (spec, question) = &self.previous[self.dice.below(self.previous.len())];
                let answer = question.answer(&current, as_of, &self.lists).unwrap();
                assert_eq!(
                    answer,
                    self.reference.previous(spec, &current, as_of),
                    "{spec:?} {as_of} {current:?}"
                );
                self.n_found += usize::from(answer);
            } else {
                let (spec, question) = &self.aggregates[self.dice.below(self.aggregates.len())];
                let answer = question.answer(&current, as_of, &self.lists).unwrap();
                assert_eq!(
                    answer,
                    self.reference.aggregate(spec, &current, as_of),
                    "{spec:?} {as_of} {current:?}"
                );
                let from_sums = question.answer_from_sums(&current, as_of);
                assert!(from_sums.is_none_or(|sums| sums.nearest == answer), "{spec:?} {as_of} {current:?}");
                self.n_found += usize::from(answer != 0.0);
                self.compare_batch(&current, as_of);
            }
        }
    }

    /// Checks that each answer of a batch equals that of the reference.
    fn compare_batch(&mut self, current: &Transaction, as_of: Sequence) {
        let (first, question) = &self.aggregates[self.dice.below(self.aggregates.len())];
        let Some(mut batch) = AggregateBatch::of(Arc::clone(question)) else { return };
        let joins = |(_, other): &&(_, Arc<AggregateQuery>)| batch.add(Arc::clone(other)).is_ok();
        let others: Vec<_> = self.aggregates.iter().filter(joins).map(|(spec, _)| spec).collect();
        batch.answer(current, as_of, |n, answer| {
            let spec = if n == 0 { first } else { others[n - 1] };
            assert_eq!(
                answer.nearest,
                self.reference.aggregate(spec, current, as_of),
                "{spec:?} {as_of} {current:?}"
            );
            self.n_told += usize::from(n > 0);
        });
    }
}

/// 20,000 lookups and more; a million when the environment variable `TOLLGATE_PROOF` is `full`.
fn n_stories() -> u64 {
    let is_full = std::env::var("TOLLGATE_PROOF").is_ok_and(|value| value == "full");
    if is_full { 7_500 } else { 150 }
}

#[test]
fn random_histories_answer_as_the_reference_does() {
    let (mut n_lookups, mut n_found, mut n_told, mut n_spilled) = (0, 0, 0, 0);
    for seed in 0..n_stories() {
        println!("seed {seed}");
        let mut story = Story::new(seed);
        let n_rows = story.n_rows(400);
        if story.dice.one_in(2) {
            story.ask_something_new();
        }
        story.admit(n_rows);
        story.settle();
        story.update(n_rows / 10);
        story.ask_something_new();
        story.compare(40);
        story.move_to_copy();
        story.compare(20);
        story.change_some();
        story.compare(20);
        story.change_back();
        story.take_back();
        story.compare(20);
        story.admit(n_rows);
        story.update(n_rows / 10);
        story.settle();
        story.ask_something_new();
        story.compare(40);
        if story.dice.one_in(3) {
            story.restart();
            story.compare(20);
        }
        n_lookups += story.n_lookups;
        n_found += story.n_found;
        n_told += story.n_told;
        n_spilled += usize::from(story.spilled_bytes_max > 0);
        assert_eq!(std::fs::read_dir(story.spill_dir.path()).unwrap().count(), 0);
    }
    println!(
        "{n_lookups} lookups, {n_found} found something, {n_told} answers came with another, \
         {n_spilled} stories spilled, 0 differences"
    );
    assert!(n_lookups >= 20_000 && n_found >= 5_000 && n_told >= 1_000 && n_spilled >= 70);
}
