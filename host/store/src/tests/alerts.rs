//! The outbox: alerts stored with their verdict, settled, dead, and sent again.

use tollgate_model::alert::AlertId;

use super::*;

fn alert(sequence: u64) -> AlertRecord {
    AlertRecord {
        sequence: Sequence(sequence),
        id: AlertId::from_stored(&format!("alert_{sequence}")),
        transaction_id: format!("t-{sequence}").into(),
        payload: format!("{{\"it's\":\"☹ {sequence}\"}}").into(),
        created_micros: 100 + sequence as i64,
    }
}

async fn keep(
    store: &Store,
    transactions: &[TransactionRecord],
    alerts: &[AlertRecord],
) -> Result<(), StoreError> {
    let (transactions, alerts) = (transactions.iter().collect(), alerts.to_vec());
    store.commit(&CommitRecord { transactions, alerts, ..CommitRecord::default() }).await
}

async fn due(store: &Store, now: i64) -> Vec<(u64, u32)> {
    let due = store.due_alerts(now, 1_000).await.unwrap();
    due.iter().map(|due| (due.record.sequence.0, due.n_attempts)).collect()
}

#[tokio::test]
async fn alerts_are_written_in_the_commit_of_their_verdicts_or_not_at_all() {
    let directory = directory();
    let store = open(&directory).await;
    let alerts: Vec<AlertRecord> = (1..=300).map(alert).collect();
    keep(&store, &records(1..=300), &alerts).await.unwrap();
    let kept: Vec<AlertRecord> =
        store.due_alerts(1_000, 1_000).await.unwrap().into_iter().map(|due| due.record).collect();
    assert_eq!(kept, alerts);
    let error = keep(&store, &[record(301, "t-1")], &[alert(301)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");
    let error = keep(&store, &[record(301, "t-301")], &[alert(300)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");
    assert_eq!(store.transaction("t-301").await.unwrap(), None);
    assert_eq!(store.alert_counts().await.unwrap(), AlertCounts { n_pending: 300, n_dead: 0 });
}

#[tokio::test]
async fn a_settled_alert_is_gone_due_later_or_dead_after_a_restart() {
    let directory = directory();
    let store = open(&directory).await;
    let alerts: Vec<AlertRecord> = (1..=4).map(alert).collect();
    keep(&store, &records(1..=4), &alerts).await.unwrap();
    assert_eq!(due(&store, 102).await, [(1, 0), (2, 0)]);
    assert_eq!(store.next_due_alert(102).await.unwrap(), Some(103));
    store
        .settle_alerts(&[
            (Sequence(1), AlertOutcome::Delivered),
            (Sequence(2), AlertOutcome::Later(500, "status 500".to_owned())),
            (Sequence(3), AlertOutcome::Dead(600, "status 410".to_owned())),
        ])
        .await
        .unwrap();
    store.close().await;
    let store = open(&directory).await;
    assert_eq!(due(&store, 499).await, [(4, 0)]);
    assert_eq!(due(&store, 500).await, [(4, 0), (2, 1)]);
    assert_eq!(store.next_due_alert(500).await.unwrap(), None);
    assert_eq!(store.alert_counts().await.unwrap(), AlertCounts { n_pending: 2, n_dead: 1 });
    let letter =
        DeadAlert { record: alert(3), n_attempts: 1, error: "status 410".to_owned(), dead_micros: 600 };
    assert_eq!(store.dead_alerts(Sequence(0), 9).await.unwrap(), [Sequence(3)]);
    assert_eq!(store.dead_alerts(Sequence(3), 9).await.unwrap(), []);
    assert_eq!(store.dead_alerts(Sequence(0), 0).await.unwrap(), []);
    assert_eq!(store.dead_alert(Sequence(3)).await.unwrap(), Some(letter));
    assert_eq!(store.dead_alert(Sequence(2)).await.unwrap(), None);
}

#[tokio::test]
async fn a_dead_letter_is_sent_again_or_forgotten_and_nothing_else_is() {
    let directory = directory();
    let store = open(&directory).await;
    let alerts: Vec<AlertRecord> = (1..=3).map(alert).collect();
    keep(&store, &records(1..=3), &alerts).await.unwrap();
    let dead = |sequence, since| (Sequence(sequence), AlertOutcome::Dead(since, "why".to_owned()));
    store.settle_alerts(&[dead(1, 700), dead(2, 800)]).await.unwrap();
    assert!(!store.replay_dead_letter("alert_3", 900).await.unwrap(), "it is on its way");
    assert!(!store.replay_dead_letter("' OR 1=1 --", 900).await.unwrap());
    assert!(store.replay_dead_letter("alert_2", 900).await.unwrap());
    assert_eq!(due(&store, 900).await, [(3, 0), (2, 0)]);
    assert_eq!(store.forget_dead_letters(700).await.unwrap(), 0);
    assert_eq!(store.forget_dead_letters(701).await.unwrap(), 1);
    assert_eq!(store.alert_counts().await.unwrap(), AlertCounts { n_pending: 2, n_dead: 0 });
}

#[tokio::test]
async fn no_alert_is_due_further_away_than_its_wait() {
    let directory = directory();
    let store = open(&directory).await;
    let alerts: Vec<AlertRecord> = (1..=5).map(alert).collect();
    keep(&store, &records(1..=5), &alerts).await.unwrap();
    let failed = |sequence, due| (Sequence(sequence), AlertOutcome::Later(due, "status 500".to_owned()));
    let dead = (Sequence(5), AlertOutcome::Dead(600, "status 410".to_owned()));
    store.settle_alerts(&[failed(2, 500), failed(3, 120), failed(4, 30), dead]).await.unwrap();
    // The first was due at 101, the second gets a new wait, the third is unchanged, the fourth is already due.
    assert_eq!(store.shorten_waits(50, &[0, 100]).await.unwrap(), 2);
    assert_eq!(due(&store, 50).await, [(4, 1), (1, 0)]);
    assert_eq!(due(&store, 149).await, [(4, 1), (1, 0), (3, 1)]);
    assert_eq!(due(&store, 150).await, [(4, 1), (1, 0), (3, 1), (2, 1)]);
    assert_eq!(store.shorten_waits(50, &[0, 100]).await.unwrap(), 0);
    // A setting removed waits.
    assert_eq!(store.shorten_waits(50, &[0]).await.unwrap(), 2);
    assert_eq!(store.alert_counts().await.unwrap(), AlertCounts { n_pending: 4, n_dead: 1 });
}
