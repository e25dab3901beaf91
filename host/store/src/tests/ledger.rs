//! Ledger data: rows without a verdict, deferred verdicts, marks and dead letters.

use super::*;

fn fed(sequence: u64, transaction_id: &str) -> TransactionRecord {
    TransactionRecord { assessment: None, rule_set_version: 0, ..record(sequence, transaction_id) }
}

fn late(sequence: u64, target: u64) -> DeferredVerdictRecord {
    let verdict = DeferredVerdict {
        fingerprint: Fingerprint([9; 32]),
        body: "{\"judged\":true}".to_owned(),
        assessment: "{\"verdict\":\"review\"}".to_owned(),
    };
    DeferredVerdictRecord {
        sequence: Sequence(sequence),
        target: Sequence(target),
        rule_set_version: 7,
        verdict,
    }
}

fn mark(micros: i64, row_id: Option<&str>) -> LedgerMark {
    LedgerMark { since_micros: 5, micros, row_id: row_id.map(Into::into) }
}

fn letter(digest: u8) -> DeadLetter {
    DeadLetter {
        digest: [digest; 32],
        transaction_id: format!("row-{digest}"),
        created_at: "infinity".to_owned(),
        reason: "invalid_field",
        detail: "no time".to_owned(),
        row: "{}".to_owned(),
        found_micros: 3,
        alert: None,
    }
}

fn progress(mark: Option<LedgerMark>, dead_letters: Vec<DeadLetter>) -> LedgerProgress {
    LedgerProgress { feed: "core/\"t\"".into(), mark, dead_letters }
}

#[tokio::test]
async fn a_fed_transaction_has_no_verdict_until_a_late_one() {
    let directory = directory();
    let store = open(&directory).await;
    store.record(&[fed(1, "a"), record(2, "b"), fed(3, "c")]).await.unwrap();
    let verdict = late(4, 1);
    let commit = CommitRecord { deferred_verdicts: vec![&verdict], ..CommitRecord::default() };
    store.commit(&commit).await.unwrap();
    assert_eq!(store.last_sequence().await.unwrap(), Sequence(4));
    store.close().await;

    let store = open(&directory).await;
    assert_eq!(store.last_sequence().await.unwrap(), Sequence(4));
    let current = |id| {
        let store = store.clone();
        async move { store.current(id).await.unwrap().unwrap() }
    };
    let (a, b, c) = (current("a").await, current("b").await, current("c").await);
    assert_eq!((a.assessment(), a.fingerprint()), (Some("{\"verdict\":\"review\"}"), Fingerprint([9; 32])));
    assert_eq!((a.record.assessment.as_deref(), a.body()), (None, "{\"judged\":true}"));
    assert_eq!((b.assessment(), b.late.as_ref()), (Some("{\"verdict\":\"approve\"}"), None));
    assert_eq!((c.assessment(), c.body()), (None, c.record.body.as_str()));

    let verdict = late(5, 1);
    let again = CommitRecord { deferred_verdicts: vec![&verdict], ..CommitRecord::default() };
    assert!(matches!(store.commit(&again).await, Err(StoreError::Conflict { .. })));
    let verdict = late(5, 2_000);
    let of_nothing = CommitRecord { deferred_verdicts: vec![&verdict], ..CommitRecord::default() };
    assert!(matches!(store.commit(&of_nothing).await, Err(StoreError::Conflict { .. })));
}

#[tokio::test]
async fn known_finds_each_of_many_and_no_other() {
    let directory = directory();
    let store = open(&directory).await;
    store.record(&records(1..=400)).await.unwrap();
    store.record_with(&[], &[update(401, 7, None, "void")]).await.unwrap();
    let ids: Vec<Arc<str>> = (0..=500).map(|n| format!("t-{n}").into()).collect();
    let mut known = store.known(&ids).await.unwrap();
    known.sort_by_key(|known| known.record.sequence);
    let found: Vec<u64> = known.iter().map(|known| known.record.sequence.0).collect();
    assert_eq!(found, (1..=400).collect::<Vec<_>>());
    assert_eq!(known.iter().filter(|known| known.status.is_some()).count(), 1);
    assert!(store.known(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_mark_moves_in_the_commit_of_its_rows_or_not_at_all() {
    let directory = directory();
    let store = open(&directory).await;
    let feed = "core/\"t\"";
    assert_eq!(store.ledger_mark(feed).await.unwrap(), None);
    let (rows, first) = ([fed(1, "a")], [progress(Some(mark(10, Some("a"))), vec![letter(1)])]);
    store
        .commit(&CommitRecord {
            transactions: rows.iter().collect(),
            ledger: first.iter().collect(),
            ..CommitRecord::default()
        })
        .await
        .unwrap();
    let (taken, second) = ([fed(1, "b")], [progress(Some(mark(20, None)), vec![letter(2)])]);
    let refused = CommitRecord {
        transactions: taken.iter().collect(),
        ledger: second.iter().collect(),
        ..CommitRecord::default()
    };
    assert!(matches!(store.commit(&refused).await, Err(StoreError::Conflict { .. })));
    assert_eq!(store.ledger_mark(feed).await.unwrap(), Some(mark(10, Some("a"))));
    assert_eq!(store.dead_letters(i64::MAX, 10).await.unwrap().0, 1);

    store.commit(&CommitRecord { ledger: second.iter().collect(), ..CommitRecord::default() }).await.unwrap();
    let expected = LedgerMark { since_micros: 5, ..mark(20, None) };
    assert_eq!(store.ledger_mark(feed).await.unwrap(), Some(expected));
    assert_eq!(store.ledger_mark("core/\"other\"").await.unwrap(), None);
}

#[tokio::test]
async fn a_row_has_one_dead_letter_however_often_it_is_read() {
    let directory = directory();
    let store = open(&directory).await;
    for round in 0..3 {
        let ledger = [progress(None, vec![letter(1), letter(2), letter(3 + round)])];
        store
            .commit(&CommitRecord { ledger: ledger.iter().collect(), ..CommitRecord::default() })
            .await
            .unwrap();
    }
    let ids = async |before, limit| {
        let (count, numbers) = store.dead_letters(before, limit).await.unwrap();
        let mut ids = Vec::new();
        for number in &numbers {
            ids.push(store.dead_letter(*number).await.unwrap().unwrap().transaction_id);
        }
        (count, ids.join(" "), numbers)
    };
    let (count, latest, numbers) = ids(i64::MAX, 2).await;
    assert_eq!((count, latest.as_str()), (5, "row-5 row-4"));
    let (count, rest, _) = ids(numbers[1], 9).await;
    assert_eq!((count, rest.as_str()), (5, "row-3 row-2 row-1"));
}
