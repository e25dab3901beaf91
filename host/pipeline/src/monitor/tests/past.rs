//! Past transactions are stored in their order, once, without a verdict.

use tollgate_model::transaction::{Json, JsonLimits, StatusWords, TransactionReport};

use super::*;

fn past(id: &str, source: &str) -> PastTransaction {
    let body = body(id).replace("acc", source);
    let (transaction, fingerprint) = Transaction::parse(body.as_bytes(), SystemClock.now()).unwrap();
    PastTransaction { transaction, fingerprint }
}

impl Fixture {
    /// Records transactions of the source `acc`, or of the one behind a slash, in one batch of groups.
    async fn record(&self, groups: &[&[&str]]) -> Vec<Result<(), MonitorError>> {
        let mut batch = self.monitor.begin_batch().await;
        let mut storing = Vec::new();
        for group in groups {
            let group = group.iter().map(|one| {
                let (id, source) = one.split_once('/').unwrap_or((*one, "acc"));
                past(id, source)
            });
            storing.push(tokio::spawn(
                batch.record(group.collect(), batch.permission_of_group().await.unwrap()),
            ));
        }
        let answers = futures_util::future::join_all(storing).await;
        answers.into_iter().flat_map(Result::unwrap).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_are_stored_once_and_another_content_is_a_conflict() {
    let bank = Fixture::open().await;
    let conflict = || Err(MonitorError::Conflict("source".into()));
    assert_eq!(
        bank.record(&[&["a", "b", "a", "b/other"], &["a", "c", "a/other"]]).await,
        [Ok(()), Ok(()), Ok(()), conflict(), Ok(()), Ok(()), conflict()]
    );
    assert_eq!(bank.record(&[&["a", "c"]]).await, [Ok(()), Ok(())]);
    assert_eq!(bank.monitor.pipeline.deps.history.len(), 3);
    let found = bank.monitor.find("a").await.unwrap().unwrap();
    assert_eq!((found.assessment, found.origin), (None, TransactionOrigin::Past));
    assert_eq!(bank.judge("d").await.as_deref(), Ok("review"));
    assert_eq!(bank.record(&[&["d"]]).await, [Ok(())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_that_is_requested_later_counts_what_came_before() {
    const N_GROUPS: usize = 20;
    let bank = Fixture::with_rule(&SECOND_OF_SOURCE.replace(">= 1", ">= 100")).await;
    let ids: Vec<Vec<String>> =
        (0..N_GROUPS).map(|group| (0..10).map(|one| format!("t{}", group * 10 + one)).collect()).collect();
    let groups: Vec<Vec<&str>> = ids.iter().map(|group| group.iter().map(String::as_str).collect()).collect();
    let groups: Vec<&[&str]> = groups.iter().map(Vec::as_slice).collect();
    assert!(bank.record(&groups).await.iter().all(Result::is_ok));
    let ids = ids.concat();
    for (number, id) in ids.iter().enumerate().rev() {
        let expected = if number < 100 { "approve" } else { "review" };
        assert_eq!(bank.judge(id).await.as_deref(), Ok(expected), "{id}");
    }
    // A repetition does not take the verdict away.
    assert!(bank.record(&groups).await.iter().all(Result::is_ok));
    assert_eq!(bank.judge("t0").await.as_deref(), Ok("approve"));
    assert_eq!(bank.monitor.pipeline.deps.history.len(), 10 * N_GROUPS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_another_content_is_a_conflict_and_an_event_moves_the_status_alone() {
    let bank = Fixture::open().await;
    assert_eq!(bank.record(&[&["a", "b"]]).await, [Ok(()), Ok(())]);
    let altered = body("b").replace(r#""r""#, r#""other""#);
    let (altered, fingerprint) = Transaction::parse(altered.as_bytes(), SystemClock.now()).unwrap();
    let conflict = Err(MonitorError::Conflict("reference".into()));
    assert_eq!(bank.monitor.judge(altered, fingerprint).await, conflict);
    let json = Json::parse(body("b").as_bytes(), JsonLimits::ENVELOPE).unwrap();
    let report =
        TransactionReport::read("void", json, None, SystemClock.now(), &StatusWords::built_in()).unwrap();
    assert!(bank.monitor.report(report, "transaction.void".into()).await.is_ok());
    let found = bank.monitor.find("b").await.unwrap().unwrap();
    assert_eq!((found.transaction.status.as_deref(), found.assessment), (Some("void"), None));
    assert_eq!(bank.judge("b").await.as_deref(), Ok("review"));
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_that_could_not_be_stored_count_nowhere() {
    let bank = Fixture::open().await;
    let aside = bank.directory.path().join("aside");
    fs::rename(bank.database(), &aside).unwrap();
    let refused = vec![Err(MonitorError::Unavailable); 3];
    assert_eq!(bank.record(&[&["a", "b"], &["c"]]).await, refused);
    fs::rename(&aside, bank.database()).unwrap();
    assert_eq!(bank.monitor.pipeline.deps.history.len(), 0);
    assert_eq!(bank.record(&[&["a", "b"], &["c"]]).await, [Ok(()), Ok(()), Ok(())]);
    assert_eq!(bank.monitor.pipeline.deps.history.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_judged_at_the_same_time_is_stored_once() {
    let bank = Fixture::open().await;
    for round in 0..50 {
        let id = format!("t{round}");
        let (once, twice): ([&[&str]; 1], [&[&str]; 2]) = ([&[&id]], [&[&id], &[&id]]);
        let (recorded, judged, again) =
            tokio::join!(bank.record(&once), bank.judge(&id), bank.record(&twice));
        assert!(
            judged.is_ok() && recorded.iter().chain(&again).all(Result::is_ok),
            "{recorded:?} {judged:?}"
        );
        assert_eq!(bank.monitor.pipeline.deps.history.len(), round + 1);
    }
}
