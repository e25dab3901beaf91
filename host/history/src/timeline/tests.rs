//! Order, sizes and sums of a timeline under any sequence of insertions and removals.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::node::{CHILDREN_MAX, TreeBranch};
use super::span::EntrySpan;
use super::*;
use crate::summary::RunSummary;

/// The order in which entries arrive.
#[derive(Debug, Clone, Copy)]
enum Arrival {
    InOrder,
    Backwards,
    Scattered,
    AllAtOnce,
}

impl Arrival {
    fn second(self, n: u64) -> i64 {
        let n = i64::try_from(n).unwrap();
        match self {
            Arrival::InOrder => n,
            Arrival::Backwards => -n,
            Arrival::Scattered => (n * 7_919) % 1_009,
            Arrival::AllAtOnce => 0,
        }
    }
}

fn entry(arrival: Arrival, n: u64) -> Entry {
    let amount = ["1", "2.5", "-3"][(n % 3) as usize];
    let amount = Decimal::from_plain(amount).unwrap();
    let cells = [OwnedValue::Number(Box::new(amount))].into();
    Entry { micros: arrival.second(n) * 1_000_000, sequence: Sequence(n), amount, cells }
}

struct Kept {
    timeline: Timeline,
    account: SeriesAccount,
}

impl Kept {
    fn new() -> Self {
        Self { timeline: Timeline::default(), account: SeriesAccount::of(&Arc::default()) }
    }

    fn insert(&mut self, entry: &Entry) {
        self.timeline.insert(entry, false, 0, &mut self.account).unwrap();
    }

    fn remove(&mut self, place: EntryPosition) -> bool {
        self.timeline.remove(place, 0, &mut self.account).unwrap()
    }

    fn root(&self) -> &TreeNode {
        &self.timeline.more.as_ref().unwrap().root
    }

    fn entries(&self) -> Vec<Entry> {
        self.timeline.stay().runs(|_| panic!("all is in memory")).unwrap().entries()
    }
}

/// Collects every chunk below a node, in order, and checks sizes, order and figures. Returns the depth.
fn chunks_of<'n>(node: &'n TreeNode, chunks: &mut Vec<&'n Chunk>, account: &SeriesAccount) -> usize {
    let depths: Vec<usize> = match node {
        TreeNode::Leaf(below) => {
            assert!(below.len() <= CHILDREN_MAX);
            for chunk in below {
                let entries = chunk.entries(account).unwrap();
                assert!((1..=RUN_ENTRIES_MAX).contains(&entries.len()));
                check_span(&EntrySpan::of(&chunk.figures), &entries);
                chunks.push(chunk);
            }
            Vec::new()
        }
        TreeNode::Inner(below) => {
            assert!((1..=CHILDREN_MAX).contains(&below.len()));
            let depth = |branch: &'n TreeBranch| {
                let n_before = chunks.len();
                let depth = chunks_of(&branch.node, chunks, account);
                let entries = chunks.iter().skip(n_before).flat_map(|chunk| chunk.entries(account).unwrap());
                check_span(&branch.span, &entries.collect::<Vec<_>>());
                depth
            };
            below.iter().map(depth).collect()
        }
    };
    assert!(depths.windows(2).all(|pair| pair[0] == pair[1]), "{depths:?}");
    1 + depths.first().unwrap_or(&0)
}

#[track_caller]
fn check_span(span: &EntrySpan, entries: &[Entry]) {
    let first = entries.iter().map(|entry| entry.micros).min().unwrap();
    let last = entries.iter().map(Entry::place).max().unwrap();
    assert_eq!((span.first, span.last), (first, last));
    let mut afresh = RunSummary::of(entries[0].sequence, entries[0].amount);
    entries.iter().skip(1).for_each(|entry| afresh.add(entry.sequence, entry.amount));
    let figures = |summary: &RunSummary| {
        let RunSummary { sequence_min, sequence_max, n_entries, min, max, .. } = *summary;
        let sums = (summary.sum.to_f64(), summary.squares.to_f64());
        (sequence_min, sequence_max, n_entries, min, max, sums)
    };
    assert_eq!(figures(&span.summary), figures(&afresh));
}

#[track_caller]
fn check(kept: &Kept, expected: &BTreeSet<EntryPosition>) {
    if let Some(more) = &kept.timeline.more {
        let mut chunks = Vec::new();
        chunks_of(&more.root, &mut chunks, &kept.account);
        assert!(chunks.windows(2).all(|pair| pair[0].figures.last < pair[1].figures.last));
    }
    let places: Vec<EntryPosition> = kept.entries().iter().map(Entry::place).collect();
    assert_eq!(places, expected.iter().copied().collect::<Vec<_>>());
}

#[test]
fn every_entry_is_there_once_and_figures_are_right_whatever_comes_and_goes() {
    for arrival in [Arrival::InOrder, Arrival::Backwards, Arrival::Scattered, Arrival::AllAtOnce] {
        let (mut kept, mut expected) = (Kept::new(), BTreeSet::new());
        for n in 0..1_000 {
            let entry = entry(arrival, n);
            expected.insert(entry.place());
            kept.insert(&entry);
        }
        // Inserting existing entries changes nothing.
        (0..1_000).step_by(3).for_each(|n| kept.insert(&entry(arrival, n)));
        check(&kept, &expected);
        for n in (0..1_000).filter(|n| n % 5 != 0).chain([0, 0, 5_000]) {
            let place = entry(arrival, n).place();
            assert_eq!(kept.remove(place), expected.remove(&place), "{arrival:?} {n}");
        }
        check(&kept, &expected);
        for place in expected {
            assert!(kept.remove(place));
        }
        assert!(kept.timeline.is_empty(), "{arrival:?}");
    }
}

#[test]
fn arrivals_in_order_fill_their_chunks_and_nodes() {
    let mut kept = Kept::new();
    let n_chunks = 2 * CHILDREN_MAX * CHILDREN_MAX;
    (0..(n_chunks * RUN_ENTRIES_MAX) as u64).for_each(|n| kept.insert(&entry(Arrival::InOrder, n)));
    let mut chunks = Vec::new();
    let depth = chunks_of(kept.root(), &mut chunks, &kept.account);
    assert_eq!((chunks.len(), depth), (n_chunks, 3));
}

#[test]
fn entries_a_little_late_part_no_chunk() {
    let mut kept = Kept::new();
    for n in 0..10_000_u64 {
        let late = if n % 50 == 0 { 20 } else { 0 };
        let mut entry = entry(Arrival::InOrder, n);
        entry.micros -= late * 1_000_000;
        kept.insert(&entry);
    }
    let mut chunks = Vec::new();
    chunks_of(kept.root(), &mut chunks, &kept.account);
    assert_eq!(chunks.len(), 10_000 / RUN_ENTRIES_MAX);
}

#[test]
fn a_timeline_made_at_once_is_as_one_made_bit_by_bit() {
    for n_entries in [0, 1, 127, 128, 129, 1_000] {
        let entries: Vec<Entry> = (0..n_entries).map(|n| entry(Arrival::InOrder, n)).collect();
        let mut kept = Kept::new();
        kept.timeline.fill(&entries, 0, &mut kept.account);
        assert_eq!(kept.entries(), entries);
        kept.insert(&entry(Arrival::InOrder, 5_000));
        assert_eq!(kept.entries().len(), entries.len() + 1);
    }
}

#[derive(Default)]
struct Effort {
    n_entries: u64,
    n_sums: usize,
    n_parts: usize,
}

impl TimelineVisitor for Effort {
    fn sum(&mut self, sum: EntrySum<'_>) -> bool {
        self.n_entries += sum.n_entries();
        self.n_sums += 1;
        true
    }

    fn part(&mut self, _part: EntryBlock<'_>) {
        self.n_parts += 1;
    }
}

#[test]
fn a_long_window_is_answered_from_few_figures() {
    for arrival in [Arrival::InOrder, Arrival::Scattered] {
        let mut kept = Kept::new();
        (0..30_000).for_each(|n| kept.insert(&entry(arrival, n)));
        let at = |n| entry(Arrival::InOrder, n).micros;
        let (from, to) =
            if matches!(arrival, Arrival::InOrder) { (at(100), at(29_900)) } else { (at(100), at(900)) };
        let mut effort = Effort::default();
        kept.timeline.open().visit(&TimeRange { from, to, as_of: Sequence(u64::MAX) }, &mut effort);
        assert!(effort.n_entries > 21_000, "{}", effort.n_entries);
        assert!(effort.n_sums <= 6 * CHILDREN_MAX, "{}", effort.n_sums);
        assert!(effort.n_parts <= 16, "{arrival:?}: {}", effort.n_parts);
    }
}
