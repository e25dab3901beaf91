//! The log of status updates.

use tollgate_history::{Past as _, PastItem};
use tollgate_model::transaction::{DatedStatus, ReportedStatus, Transaction};

use super::*;

#[tokio::test]
async fn the_last_update_of_a_transaction_stands_and_its_record_stays() {
    let directory = directory();
    let store = open(&directory).await;
    store.record(&records(1..=3)).await.unwrap();
    let [first, second] = [update(4, 2, Some("pending"), "applied"), update(6, 2, Some("applied"), "it's ☹")];
    store.record_with(&[record(5, "t-5")], &[first.clone(), second.clone()]).await.unwrap();
    let known = store.current("t-2").await.unwrap().unwrap();
    assert_eq!((known.record, known.status.as_deref()), (record(2, "t-2"), Some("it's ☹")));
    assert_eq!(store.transaction("t-2").await.unwrap(), Some(record(2, "t-2")));
    let known = store.current("t-5").await.unwrap().unwrap();
    assert_eq!((known.record, known.status), (record(5, "t-5"), None));
    assert_eq!(store.current("t-4").await.unwrap(), None);
    assert_eq!(store.last_sequence().await.unwrap(), Sequence(6));
    let body = record(2, "t-2").body;
    let updates = store.status_updates(Sequence(0), Sequence(9)).await.unwrap();
    assert_eq!(updates, [(first, body.clone()), (second.clone(), body.clone())]);
    assert_eq!(store.status_updates(Sequence(4), Sequence(u64::MAX)).await.unwrap(), [(second, body)]);
    assert_eq!(store.status_updates(Sequence(4), Sequence(5)).await.unwrap(), []);
}

#[tokio::test]
async fn the_last_reported_status_is_kept() {
    let directory = directory();
    let store = open(&directory).await;
    store.record(&records(1..=2)).await.unwrap();
    let told = |changed: i64, status: &str, undated: Option<&str>| ReportedStatus {
        latest: Some(DatedStatus { changed, status: status.into() }),
        undated: undated.map(Into::into),
    };
    for standing in [told(-1, "failed", None), told(i64::MAX, "it's \u{2639}", Some("pending"))] {
        let standings = vec![(Sequence(2), &standing)];
        let commit = CommitRecord { standings, ..CommitRecord::default() };
        store.commit(&commit).await.unwrap();
        assert_eq!(store.current("t-2").await.unwrap().unwrap().standing, Some(standing));
    }
    assert_eq!(store.current("t-1").await.unwrap().unwrap().standing, None);
    let applied = told(1, "applied", None);
    let standings = vec![(Sequence(9), &applied)];
    store.commit(&CommitRecord { standings, ..CommitRecord::default() }).await.unwrap_err();
}

#[tokio::test]
async fn an_update_of_nothing_is_refused_with_its_whole_group() {
    let directory = directory();
    let store = open(&directory).await;
    store.record(&records(1..=3)).await.unwrap();
    store.record_with(&[], &[update(4, 1, None, "applied")]).await.unwrap();
    for wrong in [update(6, 9, None, "void"), update(4, 1, None, "void"), update(1, 2, None, "void")] {
        let error = store.record_with(&[record(5, "t-5")], &[wrong]).await.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");
        assert_eq!(all(&store).await, records(1..=3));
    }
    assert_eq!(store.current("t-1").await.unwrap().unwrap().status.as_deref(), Some("applied"));
}

#[tokio::test]
async fn updates_of_one_group_may_be_many() {
    let directory = directory();
    let store = open(&directory).await;
    store.record(&records(1..=3)).await.unwrap();
    let updates: Vec<_> =
        (4..704).map(|sequence| update(sequence, 1 + sequence % 3, None, "applied")).collect();
    store.record_with(&[], &updates).await.unwrap();
    let kept: Vec<_> = store
        .status_updates(Sequence(0), Sequence(1_000))
        .await
        .unwrap()
        .into_iter()
        .map(|(update, _)| update)
        .collect();
    assert_eq!(kept, updates);
}

/// A store with transactions and updates between them: `n_updates` after every `every`th.
async fn past(n_transactions: u64, every: u64, n_updates: u64) -> (TempDir, StoredPast, u64) {
    let directory = directory();
    let store = open(&directory).await;
    let body = |id: &str| {
        let body = format!(
            r#"{{"transaction_id": "{id}", "amount": 1, "currency": "EUR", "reference": "r", "status": "new"}}"#
        );
        Transaction::parse(body.as_bytes(), DateTime::UNIX_EPOCH).unwrap().0.to_stored()
    };
    let (mut transactions, mut updates, mut last) = (Vec::new(), Vec::new(), 0);
    for n in 1..=n_transactions {
        last += 1;
        let id = format!("t-{n}");
        transactions.push(TransactionRecord { body: body(&id), ..record(last, &id) });
        if n % every == 0 {
            for round in 0..n_updates {
                let target = transactions[(n / 2) as usize].sequence.0;
                last += 1;
                updates.push(update(last, target, Some("new"), &format!("s{round}")));
            }
        }
    }
    store.record_with(&transactions, &updates).await.unwrap();
    (directory, StoredPast::of(&store), last)
}

#[track_caller]
fn check_in_order(past: &StoredPast, after: u64, through: u64, n_updates: usize) {
    let (mut next, mut n_updated) = (after + 1, 0);
    let mut show = |item: PastItem<'_>| {
        assert_eq!(item.sequence(), Sequence(next));
        next += 1;
        if let PastItem::Updated { sequence, target, before, after } = item {
            n_updated += 1;
            assert!(target < sequence && before.transaction_id == after.transaction_id);
            assert_eq!(before.status.as_deref(), Some("new"));
            assert!(after.status.as_deref().unwrap().starts_with('s'));
        }
    };
    past.each_after(Sequence(after), Sequence(through), &mut show).unwrap();
    assert_eq!((next, n_updated), (through + 1, n_updates));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past_shows_transactions_and_updates_in_one_order() {
    for (n_transactions, every, n_updates) in
        [(10, 3, 2), (9_000, 10, 1), (20, 5, 2_500), (8_192, 4_096, 4_096)]
    {
        let (directory, past, last) = past(n_transactions, every, n_updates).await;
        let n_all = (n_transactions / every * n_updates) as usize;
        tokio::task::spawn_blocking(move || {
            check_in_order(&past, 0, last, n_all);
            check_in_order(&past, 0, 2, 0);
            check_in_order(&past, last, last, 0);
        })
        .await
        .unwrap();
        drop(directory);
    }
}
