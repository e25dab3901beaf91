//! Memory of keys that left it, or are gone, is free for others.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use tollgate_guest_abi::{AggregateFunction, Condition, Semantics};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::{count_of_same, same, spec};
use crate::History;
use crate::key::ExportKey;
use crate::sample::Sample;
use crate::spill::SpillSource as _;

const N_ACCOUNTS: u64 = 6_000;
/// Room for a seventh of the accounts.
const LIMIT_BYTES: usize = 300_000;

/// A payment from an account, or to another one.
fn payment(id: u64, is_from: bool) -> Arc<Transaction> {
    let account: &str = format!("{}-{}", if is_from { "account" } else { "payee" }, id % N_ACCOUNTS).leak();
    let (source, destination) = if is_from { (Some(account), None) } else { (None, Some(account)) };
    Arc::new(Sample { id, source, destination, ..Sample::default() }.build())
}

#[test]
fn memory_of_a_series_whose_keys_left_is_used_by_another() {
    let directory = tempfile::tempdir().unwrap();
    let records = directory.path().join("records");
    let history = History::new().bounded_with_keys(LIMIT_BYTES, directory.path(), &records).unwrap();
    let [from, to] = ["source", "destination"]
        .map(|field| history.aggregate(&count_of_same(field, "P1D"), Semantics::CURRENT).unwrap());
    let sizes = || {
        let mut sizes = Vec::new();
        history.each_series(|series| sizes.push(series.n_kept_bytes()));
        sizes.sort_unstable();
        sizes
    };
    (0..N_ACCOUNTS).for_each(|id| history.admit(payment(id, true), |_| ()));
    let alone = sizes();
    assert!(alone[1] > LIMIT_BYTES / 4, "{alone:?}");
    (0..N_ACCOUNTS).for_each(|id| history.admit(payment(N_ACCOUNTS + id, false), |_| ()));
    let beside_another = sizes();
    assert!(beside_another[0] < alone[1] / 3, "{alone:?} {beside_another:?}");
    assert!(history.resident_bytes() <= LIMIT_BYTES + LIMIT_BYTES / 10, "{}", history.resident_bytes());
    let lists = HashMap::<String, NamedList>::new();
    for id in (0..N_ACCOUNTS).step_by(59) {
        for (query, is_from) in [(&from, true), (&to, false)] {
            let as_of = history.last_sequence().next();
            assert_eq!(query.answer(&payment(id, is_from), as_of, &lists), Ok(1.0), "{id} {is_from}");
        }
    }
}

#[test]
fn keys_that_may_leave_are_no_excess_of_what_stays_in_memory() {
    let check = |n_before: u64, is_excess: bool, bounded: &dyn Fn(&Path) -> History| {
        let directory = tempfile::tempdir().unwrap();
        let history = bounded(directory.path());
        let _query = history.aggregate(&count_of_same("source", "P1D"), Semantics::CURRENT).unwrap();
        (0..n_before).for_each(|id| history.admit(payment(id, true), |_| ()));
        assert_eq!(history.keeps_records(), n_before > 0);
        // The keys of these payments stay in memory, because no room is made.
        (n_before..n_before + N_ACCOUNTS).for_each(|id| history.admit_as(|_| (payment(id, true), ())));
        history.each_series(|series| assert!(series.n_kept_bytes() > LIMIT_BYTES));
        assert_eq!(history.kept_excess() > 0, is_excess, "{n_before}: {}", history.kept_excess());
    };
    let with_keys = |directory: &Path| {
        History::new().bounded_with_keys(LIMIT_BYTES, directory, &directory.join("records")).unwrap()
    };
    check(0, false, &with_keys);
    check(N_ACCOUNTS / 2, false, &with_keys);
    check(0, true, &|directory| History::new().bounded(LIMIT_BYTES, directory).unwrap());
}

#[test]
fn keys_of_an_account_that_is_too_long_to_leave_are_an_excess() {
    let directory = tempfile::tempdir().unwrap();
    let records = directory.path().join("records");
    let history = History::new().bounded_with_keys(LIMIT_BYTES, directory.path(), &records).unwrap();
    let both = Condition::All(vec![same("source"), same("destination")]);
    let count = spec(AggregateFunction::Count, both, "P1D");
    let _query = history.aggregate(&count, Semantics::CURRENT).unwrap();
    for id in 0..N_ACCOUNTS {
        let payee: &str = format!("payee-{id}").leak();
        let sample = Sample { id, source: Some("payer"), destination: Some(payee), ..Sample::default() };
        history.admit(Arc::new(sample.build()), |_| ());
    }
    assert!(history.kept_excess() > 0);
}

#[test]
fn walk_over_a_series_meets_keys_that_move_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let history = History::new().bounded(64 << 20, directory.path()).unwrap();
    let _query = history.aggregate(&count_of_same("source", "P1D"), Semantics::CURRENT).unwrap();
    let (n_accounts, n_at_once) = (400, 5);
    // The first accounts have the lowest slots: others move there when they are gone, after half of the walk.
    let steps = 250..290;
    for id in 0..n_accounts {
        history.admit(payment(id, true), |_| ());
    }
    let (mut met, mut gone) = (BTreeSet::new(), BTreeSet::new());
    history.each_series(|series| {
        let mut next = Some(usize::MAX);
        for step in 0_u64.. {
            let Some(end) = next else { break };
            let mut show = |key: &ExportKey, _: &_| met.extend([key.to_bytes().to_vec()]);
            next = series.export(end, 1, &|_| true, &mut show).unwrap();
            let first = n_at_once * (step - steps.start.min(step));
            for id in (first..first + n_at_once).filter(|_| steps.contains(&step)) {
                series.remove(Sequence(id + 1), &payment(id, true));
                gone.insert(id);
            }
            series.let_go(1).unwrap();
        }
    });
    let n_staying = usize::try_from(n_accounts).unwrap() - gone.len();
    assert!(gone.len() > 100, "{}", gone.len());
    let is_met = |id: &u64| {
        let account = format!("account-{id}").into_bytes();
        met.iter().any(|key| key.ends_with(&account))
    };
    assert_eq!((0..n_accounts).filter(|id| !gone.contains(id) && is_met(id)).count(), n_staying);
}
