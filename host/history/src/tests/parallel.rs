//! Concurrent admissions, retractions and queries.

use std::collections::HashMap;
use std::sync::{Arc, Barrier};
use std::thread;

use tollgate_guest_abi::{AggregateFunction, Semantics};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;

use super::{count_of_same, same, spec, transaction};
use crate::History;

const NO_LISTS: fn() -> HashMap<String, NamedList> = HashMap::new;

#[test]
fn each_parallel_admission_counts_exactly_those_before_it() {
    const ROUNDS: usize = 200;
    const THREADS: usize = 16;
    const ADMISSIONS: usize = 4;
    for round in 0..ROUNDS {
        let history = History::new();
        let count = history.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).unwrap();
        let start = Barrier::new(THREADS);
        let admit_some = || {
            start.wait();
            let ask = |_| {
                let row = transaction("alice", "1", 0);
                let sequence = history.admit(Arc::clone(&row), |sequence| sequence);
                count.answer(&row, sequence, &NO_LISTS()).unwrap()
            };
            (0..ADMISSIONS).map(ask).collect::<Vec<f64>>()
        };
        let mut counts: Vec<f64> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(admit_some)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        counts.sort_by(f64::total_cmp);
        let expected: Vec<f64> = (0..THREADS * ADMISSIONS).map(|n| n as f64).collect();
        assert_eq!(counts, expected, "round {round}");
    }
}

/// A query activated while transactions are accepted and retracted sees exactly those that remain.
#[test]
fn a_series_filled_under_load_equals_one_filled_at_rest() {
    for _ in 0..20 {
        let history = History::new();
        for _ in 0..5_000 {
            history.admit(transaction("alice", "2", 0), |_| ());
        }
        let filled_under_load = thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..=3_000_u64 {
                    history.admit(transaction("alice", "3", 0), |_| ());
                    if n % 40 == 0 {
                        history.retract_from(Sequence(history.last_sequence().0 - 25));
                    }
                }
            });
            history
                .aggregate(&spec(AggregateFunction::Sum, same("source"), "PT1H"), Semantics::CURRENT)
                .unwrap()
        });
        let at_rest = history
            .aggregate(&spec(AggregateFunction::Sum, same("currency"), "PT1H"), Semantics::CURRENT)
            .unwrap();
        let (current, as_of) = (transaction("alice", "1", 0), history.last_sequence().next());
        let answer = filled_under_load.answer(&current, as_of, &NO_LISTS()).unwrap();
        assert_eq!(answer, at_rest.answer(&current, as_of, &NO_LISTS()).unwrap());
        assert!(answer > 10_000.0);
    }
}
