//! More accounts than memory: whole keys leave it, and every answer stays exact or is an error.

use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;

use tempfile::TempDir;
use tollgate_guest_abi::{AggregateFunction, Semantics};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::{count_of_same, same, spec};
use crate::residency::Departure;
use crate::sample::{Sample, text};
use crate::{AggregateQuery, History, LookupError};

const N_ACCOUNTS: u64 = 8_000;
/// Room for a tenth of the accounts.
const LIMIT_BYTES: usize = 600_000;

/// A payment from one account to another.
fn payment(id: u64, from: u64, to: u64) -> Arc<Transaction> {
    let metadata = vec![("device", text(&format!("device-{from}")))];
    let (source, destination) = (format!("account-{from}"), format!("account-{to}"));
    let sample = Sample {
        id,
        at: i64::try_from(id / 100).unwrap(),
        source: Some(source.leak()),
        destination: Some(destination.leak()),
        metadata,
        ..Sample::default()
    };
    Arc::new(sample.build())
}

fn limited(directory: &Path, limit_bytes: usize) -> (History, Vec<Arc<AggregateQuery>>) {
    let history = History::new();
    let history = history.bounded_with_keys(limit_bytes, directory, &directory.join("records")).unwrap();
    let specs = [
        count_of_same("source", "P1D"),
        count_of_same("destination", "P1D"),
        count_of_same("meta_data.device", "P1D"),
        spec(AggregateFunction::Sum, same("source"), "P1D"),
    ];
    let queries = specs.iter().map(|spec| history.aggregate(spec, Semantics::CURRENT).unwrap()).collect();
    (history, queries)
}

/// A history with two payments of each account, of which most are on the disk.
fn filled() -> (TempDir, History, Vec<Arc<AggregateQuery>>) {
    filled_within(LIMIT_BYTES)
}

/// Same as [`filled`], with another limit.
fn filled_within(limit_bytes: usize) -> (TempDir, History, Vec<Arc<AggregateQuery>>) {
    let directory = tempfile::tempdir().unwrap();
    let (history, queries) = limited(directory.path(), limit_bytes);
    for id in 0..2 * N_ACCOUNTS {
        assert!(history.has_room() || limit_bytes < LIMIT_BYTES, "payment {id}");
        history.admit(payment(id, id % N_ACCOUNTS, id * 7 % N_ACCOUNTS), |_| ());
    }
    (directory, history, queries)
}

#[test]
fn limit_that_the_index_fills_is_named_with_one_that_suffices() {
    let check = |limit_bytes| {
        let directory = tempfile::tempdir().unwrap();
        let (history, _queries) = limited(directory.path(), limit_bytes);
        (0..1_500).for_each(|id| history.admit(payment(id, id, id), |_| ()));
        assert!(history.keeps_records(), "{limit_bytes}");
        history.limit_for_index()
    };
    let needed_bytes = check(20_000).unwrap();
    assert!(needed_bytes < 200_000, "{needed_bytes}");
    assert_eq!(check(needed_bytes), None);
}

fn ask(history: &History, query: &AggregateQuery, from: u64, to: u64) -> Result<f64, LookupError> {
    let as_of = history.last_sequence().next();
    query.answer(&payment(2 * N_ACCOUNTS, from, to), as_of, &HashMap::<String, NamedList>::new())
}

#[test]
fn accounts_that_do_not_fit_into_memory_are_counted_exactly() {
    let (_directory, history, queries) = filled();
    assert!(history.resident_bytes() <= LIMIT_BYTES + LIMIT_BYTES / 10, "{}", history.resident_bytes());
    assert!(history.spilled_bytes() > 1_500_000, "{}", history.spilled_bytes());
    for account in (0..N_ACCOUNTS).step_by(97).chain([N_ACCOUNTS, N_ACCOUNTS + 1]) {
        let n_payments = if account < N_ACCOUNTS { 2.0 } else { 0.0 };
        for query in &queries[..3] {
            assert_eq!(ask(&history, query, account, account), Ok(n_payments), "{account}");
        }
    }
}

#[test]
fn accounts_on_the_disk_come_back_before_they_are_needed() {
    let (_directory, history, queries) = filled();
    let mut n_prepared = 0;
    for account in (0..N_ACCOUNTS).step_by(17) {
        let next = payment(2 * N_ACCOUNTS, account, account + 1);
        if history.is_elsewhere(&next) {
            history.prepare(&next);
            assert!(!history.is_elsewhere(&next), "{account}");
            n_prepared += 1;
        }
        assert_eq!(ask(&history, &queries[0], account, 0), Ok(2.0));
    }
    assert!(n_prepared > 300, "{n_prepared}");
}

#[test]
fn an_account_that_left_is_not_read_back_when_another_of_its_keys_is_to_leave() {
    let (_directory, history, _queries) = filled();
    let residency = history.spill.residency().unwrap();
    let payments: Vec<_> = (0..N_ACCOUNTS).map(|account| payment(account, account, account)).collect();
    let elsewhere = || residency.elsewhere(payments.iter().map(|payment| &**payment));
    let mut left = elsewhere();
    // Anchors with keys in memory have rows there beside their records.
    history.each_series(|series| left.retain(|anchor| !series.has_keys_of(*anchor)));
    assert!(left.len() > 1_000, "{}", left.len());
    for anchor in &left {
        assert_eq!(residency.leave(&history.spill, *anchor).unwrap(), Departure::Left(0));
    }
    let still: HashSet<_> = elsewhere().into_iter().collect();
    assert!(left.iter().all(|anchor| still.contains(anchor)));
}

#[test]
fn a_retraction_reaches_what_is_on_the_disk() {
    let (_directory, history, queries) = filled();
    history.retract_from(Sequence(N_ACCOUNTS + 1));
    for account in (0..N_ACCOUNTS).step_by(97) {
        assert_eq!(ask(&history, &queries[0], account, 0), Ok(1.0), "{account}");
    }
    history.retract_from(Sequence(1));
    assert_eq!(ask(&history, &queries[0], 5, 0), Ok(0.0));
    assert!(history.is_empty());
}

#[test]
fn a_query_about_a_damaged_record_fails_and_never_counts_too_few() {
    let (directory, history, queries) = filled();
    damage_records(directory.path());
    let (mut n_exact, mut failed) = (0, Vec::new());
    for account in 0..N_ACCOUNTS {
        match ask(&history, &queries[0], account, 0) {
            Ok(count) => {
                assert_eq!(count, 2.0, "{account}");
                n_exact += 1;
            }
            Err(_) => failed.push(account),
        }
    }
    let n_failed = failed.len();
    assert!(n_failed > 3_000 && n_exact > 0, "{n_failed} {n_exact}");
    // A payment of such an account is counted beside what cannot be read, so the query still fails.
    let last = failed[n_failed / 2];
    history.admit(payment(2 * N_ACCOUNTS, last, last), |_| ());
    assert!(ask(&history, &queries[0], last, 0).is_err_and(|error| matches!(error, LookupError::Spill(_))));
    // Nobody knows what a retraction would have removed there, so no query of the series has an answer.
    let in_memory = (0..N_ACCOUNTS).find(|account| !failed.contains(account)).unwrap();
    assert_eq!(ask(&history, &queries[0], in_memory, 0), Ok(2.0));
    history.retract_from(Sequence(last + 1));
    assert!(ask(&history, &queries[0], in_memory, 0).is_err());
}

/// Overwrites all records of a directory that are in files.
pub(super) fn damage_records(directory: &Path) {
    for entry in fs::read_dir(directory.join("records")).unwrap() {
        let file = OpenOptions::new().write(true).open(entry.unwrap().path()).unwrap();
        let n_bytes = usize::try_from(file.metadata().unwrap().len()).unwrap();
        file.write_all_at(&vec![0x55; n_bytes.saturating_sub(4_096)], 4_096).unwrap();
    }
}

#[test]
fn parallel_payments_of_an_account_on_the_disk_count_those_before_them() {
    const ROUNDS: u64 = 60;
    const THREADS: u64 = 16;
    let (_directory, history, queries) = filled();
    for round in 0..ROUNDS {
        let account = round * 331 % N_ACCOUNTS;
        let start = Barrier::new(usize::try_from(THREADS).unwrap());
        let admit = || {
            let row = payment(2 * N_ACCOUNTS, account, account);
            start.wait();
            let sequence = history.admit(Arc::clone(&row), |sequence| sequence);
            queries[0].answer(&row, sequence, &HashMap::<String, NamedList>::new()).unwrap()
        };
        let mut counts: Vec<f64> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(admit)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        counts.sort_by(f64::total_cmp);
        let expected: Vec<f64> = (0..THREADS).map(|n| (2 + n) as f64).collect();
        assert_eq!(counts, expected, "round {round}");
    }
}

#[test]
fn payments_of_many_accounts_in_parallel_are_all_counted() {
    const THREADS: u64 = 4;
    let directory = tempfile::tempdir().unwrap();
    let (history, queries) = limited(directory.path(), LIMIT_BYTES);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let history = &history;
            scope.spawn(move || {
                for n in 0..N_ACCOUNTS / 2 {
                    let account = (n * 13 + thread * 5) % N_ACCOUNTS;
                    history.admit(payment(n, account, (account + 1) % N_ACCOUNTS), |_| ());
                }
            });
        }
    });
    let mut expected = HashMap::<u64, u64>::new();
    for thread in 0..THREADS {
        for n in 0..N_ACCOUNTS / 2 {
            *expected.entry((n * 13 + thread * 5) % N_ACCOUNTS).or_default() += 1;
        }
    }
    for account in 0..N_ACCOUNTS {
        let n_payments = expected.get(&account).copied().unwrap_or_default() as f64;
        assert_eq!(ask(&history, &queries[0], account, 0), Ok(n_payments), "{account}");
    }
}

#[test]
fn queries_of_accounts_that_keep_leaving_count_all_their_payments() {
    const THREADS: u64 = 4;
    // Room for a few accounts, so that each leaves soon after it came back.
    let (_directory, history, queries) = filled_within(LIMIT_BYTES / 40);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (history, queries) = (&history, &queries);
            scope.spawn(move || {
                for n in 0..N_ACCOUNTS / 8 {
                    // Payments of others make room for themselves.
                    let other = N_ACCOUNTS + n * THREADS + thread;
                    history.admit(payment(2 * N_ACCOUNTS, other, other), |_| ());
                    let account = (n * 13 + thread * 5) % N_ACCOUNTS;
                    assert_eq!(ask(history, &queries[0], account, 0), Ok(2.0), "{account}");
                }
            });
        }
    });
}
