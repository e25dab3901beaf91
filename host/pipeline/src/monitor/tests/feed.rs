//! Rows of a ledger: history first, a verdict on request, each id once.

use tollgate_model::transaction::{Json, JsonLimits, StatusWords, TransactionReport};
use tollgate_store::{DeadLetter, LedgerMark, LedgerProgress};

use super::*;

fn row(id: &str, fields: &str) -> LedgerFeedRow {
    let body = body(id).replace('}', &format!("{fields}}}"));
    let json = Json::parse(body.as_bytes(), JsonLimits::REQUEST).unwrap();
    let (transaction, fingerprint) = Transaction::from_json(json, SystemClock.now()).unwrap();
    let if_it_differs = DeadLetter {
        digest: [id.len() as u8; 32],
        transaction_id: id.to_owned(),
        created_at: String::new(),
        reason: "transaction_conflict",
        detail: String::new(),
        row: "{}".to_owned(),
        found_micros: 0,
        alert: None,
    };
    LedgerFeedRow { transaction, fingerprint, if_it_differs }
}

fn progress(micros: i64) -> LedgerProgress {
    let mark = LedgerMark { since_micros: 0, micros, row_id: None };
    LedgerProgress { feed: "ledger".into(), mark: Some(mark), dead_letters: Vec::new() }
}

impl Fixture {
    async fn feed(&self, rows: Vec<LedgerFeedRow>, micros: i64) -> Result<FeedReport, MonitorError> {
        self.monitor.feed(rows, FeedMode::History, progress(micros)).await
    }

    async fn mark(&self) -> Option<i64> {
        let store = &self.monitor.pipeline.deps.store;
        store.ledger_mark("ledger").await.unwrap().map(|mark| mark.micros)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_taken_once_and_the_mark_follows_them() {
    let bank = Fixture::open().await;
    let rows = || vec![row("a", ""), row("b", ""), row("a", "")];
    let first = FeedReport { n_taken: 2, n_known: 1, ..FeedReport::default() };
    assert_eq!(bank.feed(rows(), 7).await, Ok(first));
    assert_eq!(bank.feed(rows(), 8).await, Ok(FeedReport { n_known: 3, ..FeedReport::default() }));
    assert_eq!((bank.monitor.pipeline.deps.history.len(), bank.mark().await), (2, Some(8)));
    let found = bank.monitor.find("a").await.unwrap().unwrap();
    assert_eq!(found.assessment, None);
    let mut other = row("b", "");
    other.transaction.currency = "USD".into();
    let different = vec![row("a", r#", "destination": "x""#), other];
    let report = bank.feed(different, 9).await.unwrap();
    assert_eq!((report.n_known, report.n_differing), (1, 1));
    assert_eq!(bank.monitor.pipeline.deps.store.dead_letters(i64::MAX, 9).await.unwrap().0, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mark_stays_where_it_was_when_the_rows_are_not_durable() {
    let bank = Fixture::open().await;
    assert!(bank.feed(vec![row("a", "")], 7).await.is_ok());
    let aside = bank.directory.path().join("aside");
    fs::rename(bank.database(), &aside).unwrap();
    assert_eq!(bank.feed(vec![row("b", ""), row("c", "")], 8).await, Err(MonitorError::Unavailable));
    fs::rename(&aside, bank.database()).unwrap();
    assert_eq!((bank.mark().await, bank.monitor.pipeline.deps.history.len()), (Some(7), 1));
    assert_eq!(bank.feed(vec![row("b", ""), row("c", "")], 8).await.unwrap().n_taken, 2);
    assert_eq!(bank.mark().await, Some(8));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_that_is_asked_for_later_is_as_of_the_number_of_its_row() {
    let bank = Fixture::open().await;
    assert!(bank.feed(vec![row("a", ""), row("b", "")], 7).await.is_ok());
    assert_eq!(bank.judge("c").await.as_deref(), Ok("review"));
    assert_eq!(bank.judge("a").await.as_deref(), Ok("approve"), "nothing of this source came before");
    assert_eq!(bank.judge("b").await.as_deref(), Ok("review"));
    assert_eq!(bank.judge("a").await.as_deref(), Ok("approve"));
    assert_eq!(bank.monitor.pipeline.deps.history.len(), 3);

    let aside = bank.directory.path().join("aside");
    assert!(bank.feed(vec![row("d", "")], 8).await.is_ok());
    fs::rename(bank.database(), &aside).unwrap();
    assert_eq!(bank.judge("d").await, Err(MonitorError::Unavailable));
    fs::rename(&aside, bank.database()).unwrap();
    assert_eq!(bank.judge("d").await.as_deref(), Ok("review"));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_events_and_requests_for_one_id_at_once_come_to_one_end() {
    let bank = Fixture::open().await;
    for round in 0..20 {
        let id = format!("r{round}");
        let report = || {
            let json = Json::parse(body(&id).as_bytes(), JsonLimits::ENVELOPE).unwrap();
            TransactionReport::read("void", json, None, SystemClock.now(), &StatusWords::built_in()).unwrap()
        };
        let status = r#", "status": "applied""#;
        let (fed, reported, judged, again) = tokio::join!(
            bank.feed(vec![row(&id, status)], round),
            bank.monitor.report(report(), "transaction.void".into()),
            bank.judge(&id),
            bank.feed(vec![row(&id, status)], round),
        );
        assert!(fed.is_ok() && again.is_ok() && reported.is_ok(), "{fed:?} {reported:?} {again:?}");
        // If the report came first, the request has a different status.
        assert!(matches!(judged, Ok(_) | Err(MonitorError::Conflict(_))), "{judged:?}");
        let found = bank.monitor.find(&id).await.unwrap().unwrap();
        assert_eq!(found.transaction.status.as_deref(), Some("void"));
        assert!(found.assessment.is_some());
        assert_eq!(bank.monitor.pipeline.deps.history.len() as i64, round + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_judged_where_that_is_asked_for() {
    let bank = Fixture::open().await;
    let rows: Vec<LedgerFeedRow> = (0..40).map(|n| row(&format!("t{n}"), "")).collect();
    let report = bank.monitor.feed(rows, FeedMode::Judge, progress(3)).await.unwrap();
    assert_eq!((report.n_taken, bank.mark().await), (40, Some(3)));
    for n in 0..40 {
        let found = bank.monitor.find(&format!("t{n}")).await.unwrap().unwrap();
        let verdict = if n == 0 { "approve" } else { "review" };
        assert!(found.assessment.unwrap().contains(&format!(r#""verdict":"{verdict}""#)), "{n}");
    }
}
