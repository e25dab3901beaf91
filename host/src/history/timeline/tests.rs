//! The order, the sizes and the figures of a timeline, whatever comes and goes.

use std::collections::BTreeSet;

use super::chunk::CHUNK_ENTRIES_MAX;
use super::node::{Branch, CHILDREN_MAX};
use super::span::Span;
use super::*;

/// In what order entries come.
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
    let cells = [Held::Number(Box::new(amount))].into();
    Entry { micros: arrival.second(n) * 1_000_000, sequence: Sequence(n), amount, cells }
}

fn insert(timeline: &mut Timeline, entry: Entry) {
    timeline.insert(entry, &Arc::default());
}

/// Every chunk below a node, in order; checks sizes, order and figures on the way.
fn chunks_of<'n>(node: &'n Node, chunks: &mut Vec<&'n Chunk>) -> usize {
    let depths: Vec<usize> = match node {
        Node::Leaf(below) => {
            assert!(below.len() <= CHILDREN_MAX);
            for chunk in below {
                let entries = chunk.body().open().unwrap().to_entries();
                assert!((1..=CHUNK_ENTRIES_MAX).contains(&entries.len()));
                check_span(&chunk.span, &entries);
                chunks.push(chunk);
            }
            Vec::new()
        }
        Node::Inner(below) => {
            assert!((1..=CHILDREN_MAX).contains(&below.len()));
            let depth = |branch: &'n Branch| {
                let n_before = chunks.len();
                let depth = chunks_of(&branch.node, chunks);
                let entries =
                    chunks.iter().skip(n_before).flat_map(|chunk| chunk.body().open().unwrap().to_entries());
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
fn check_span(span: &Span, entries: &[Entry]) {
    let afresh = Chunk::of_all(entries.to_vec(), &Arc::default()).unwrap().span;
    assert_eq!((span.first, span.last), (afresh.first, afresh.last));
    let figures = |summary: &Summary| {
        let Summary { sequence_min, sequence_max, n_entries, min, max, .. } = *summary;
        let sums = (summary.sum.to_f64(), summary.squares.to_f64());
        (sequence_min, sequence_max, n_entries, min, max, sums)
    };
    assert_eq!(figures(&span.summary), figures(&afresh.summary));
}

#[track_caller]
fn check_order(timeline: &Timeline, expected: &BTreeSet<Place>) {
    let mut chunks = Vec::new();
    chunks_of(&timeline.root, &mut chunks);
    let places: Vec<Place> = chunks
        .iter()
        .flat_map(|chunk| chunk.body().open().unwrap().to_entries())
        .map(|entry| entry.place())
        .collect();
    assert_eq!(places, expected.iter().copied().collect::<Vec<_>>());
}

#[test]
fn entries_stay_in_order_and_chunks_in_size_whatever_comes_and_goes() {
    for arrival in [Arrival::InOrder, Arrival::Backwards, Arrival::Scattered, Arrival::AllAtOnce] {
        let (mut timeline, mut expected) = (Timeline::default(), BTreeSet::new());
        for n in 0..1_000 {
            let entry = entry(arrival, n);
            expected.insert(entry.place());
            insert(&mut timeline, entry);
        }
        check_order(&timeline, &expected);
        for n in (0..1_000).filter(|n| n % 5 != 0).chain([0, 0, 5_000]) {
            let (micros, sequence) = entry(arrival, n).place();
            timeline.remove(micros, sequence, &Arc::default()).unwrap();
            expected.remove(&(micros, sequence));
        }
        check_order(&timeline, &expected);
        for (micros, sequence) in expected {
            timeline.remove(micros, sequence, &Arc::default()).unwrap();
        }
        assert!(timeline.is_empty(), "{arrival:?}");
    }
}

#[test]
fn arrivals_in_order_fill_their_chunks_and_nodes() {
    let mut timeline = Timeline::default();
    let n_chunks = 2 * CHILDREN_MAX * CHILDREN_MAX;
    (0..(n_chunks * CHUNK_ENTRIES_MAX) as u64)
        .for_each(|n| insert(&mut timeline, entry(Arrival::InOrder, n)));
    let mut chunks = Vec::new();
    let depth = chunks_of(&timeline.root, &mut chunks);
    assert_eq!((chunks.len(), depth), (n_chunks, 3));
}

/// Counts what it is shown.
#[derive(Default)]
struct Effort {
    n_entries: u64,
    n_runs: usize,
    n_chunks: usize,
}

impl Look for Effort {
    fn run(&mut self, summary: &Summary) -> bool {
        self.n_entries += summary.n_entries;
        self.n_runs += 1;
        true
    }

    fn chunk(&mut self, _chunk: &Chunk) {
        self.n_chunks += 1;
    }
}

#[test]
fn a_long_window_is_answered_from_few_figures() {
    let mut timeline = Timeline::default();
    (0..100_000).for_each(|n| insert(&mut timeline, entry(Arrival::InOrder, n)));
    let at = |n| entry(Arrival::InOrder, n).micros;
    let mut effort = Effort::default();
    timeline.visit(Stretch { from: at(100), to: at(99_900), as_of: Sequence(u64::MAX) }, &mut effort);
    assert!(effort.n_entries > 99_000, "{}", effort.n_entries);
    assert!(effort.n_runs <= 6 * CHILDREN_MAX, "{}", effort.n_runs);
    assert_eq!(effort.n_chunks, 2);
}

#[test]
fn what_a_reader_took_along_does_not_change_under_it() {
    let only_chunk = |timeline: &Timeline| match &timeline.root {
        Node::Leaf(chunks) => chunks[0].body().clone(),
        Node::Inner(_) => panic!("a chunk is enough for ten"),
    };
    let mut timeline = Timeline::default();
    (0..10).for_each(|n| insert(&mut timeline, entry(Arrival::InOrder, n)));
    let taken = only_chunk(&timeline);
    insert(&mut timeline, entry(Arrival::InOrder, 10));
    timeline.remove(entry(Arrival::InOrder, 3).micros, Sequence(3), &Arc::default()).unwrap();
    assert_eq!((taken.len(), taken.open().unwrap().to_entries()[3].sequence), (10, Sequence(3)));
    assert_eq!(only_chunk(&timeline).len(), 10);
}
