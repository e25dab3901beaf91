//! Reports of a ledger: one pause for all waiting updates, and no trace of an update that did not become durable.

use tollgate_model::transaction::{Json, JsonLimits, StatusWords};

use super::*;

const APPLIED_OF_SOURCE: &str = r#"rule applied {
    when count(when source == $current.source and status == "applied", "PT1H") >= 1
    then review score 0.5 reason "applied"
}"#;

impl Fixture {
    async fn report(&self, word: &str, id: &str) -> Result<(), MonitorError> {
        let json = Json::parse(body(id).as_bytes(), JsonLimits::REQUEST).unwrap();
        let report =
            TransactionReport::read(word, json, None, SystemClock.now(), &StatusWords::built_in()).unwrap();
        self.monitor.report(report, format!("transaction.{word}").into()).await
    }

    async fn status(&self, id: &str) -> Option<String> {
        let judged = self.monitor.find(id).await.unwrap()?;
        judged.transaction.status.map(|status| status.to_string())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_update_counts_for_later_payments_only() {
    let bank = Fixture::with_rule(APPLIED_OF_SOURCE).await;
    assert_eq!(bank.judge("a").await.as_deref(), Ok("approve"));
    assert_eq!(bank.judge("b").await.as_deref(), Ok("approve"));
    bank.report("applied", "a").await.unwrap();
    assert_eq!(bank.judge("c").await.as_deref(), Ok("review"));
    assert_eq!(bank.judge("b").await.as_deref(), Ok("approve"), "the verdict it got");
    bank.report("void", "a").await.unwrap();
    assert_eq!(bank.judge("d").await.as_deref(), Ok("approve"));
    assert_eq!(bank.monitor.pipeline.deps.history.len(), 4);
    assert_eq!(bank.monitor.pipeline.deps.history.last_sequence(), Sequence(6));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_whose_commit_fails_is_undone_and_can_come_again() {
    let bank = Fixture::with_rule(APPLIED_OF_SOURCE).await;
    assert_eq!(bank.judge("a").await.as_deref(), Ok("approve"));
    let aside = bank.directory.path().join("aside");
    fs::rename(bank.database(), &aside).unwrap();
    for _ in 0..2 {
        assert_eq!(bank.report("applied", "a").await, Err(MonitorError::Unavailable));
    }
    fs::rename(&aside, bank.database()).unwrap();
    assert_eq!(bank.judge("b").await.as_deref(), Ok("approve"), "nothing was applied");
    assert_eq!(bank.status("a").await, None);
    bank.report("applied", "a").await.unwrap();
    assert_eq!(bank.judge("c").await.as_deref(), Ok("review"));
    assert_eq!(bank.status("a").await.as_deref(), Some("applied"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_waits_for_the_evaluations_before_it_and_then_takes_its_number() {
    let bank = Fixture::with_rule(APPLIED_OF_SOURCE).await;
    assert_eq!(bank.judge("a").await.as_deref(), Ok("approve"));
    assert_eq!(bank.judge("b").await.as_deref(), Ok("approve"));
    let pipeline = &bank.monitor.pipeline;
    let evaluating = pipeline.gate.evaluate().await;
    let reports = async { tokio::join!(bank.report("applied", "a"), bank.report("void", "b")) };
    let meanwhile = async {
        while !pipeline.gate.is_wanted() {
            tokio::task::yield_now().await;
        }
        assert_eq!(pipeline.deps.history.last_sequence(), Sequence(2));
        drop(evaluating);
    };
    let (reported, ()) = tokio::join!(reports, meanwhile);
    assert_eq!(reported, (Ok(()), Ok(())));
    assert_eq!(pipeline.deps.history.last_sequence(), Sequence(4));
    assert_eq!(bank.judge("c").await.as_deref(), Ok("review"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inject_during_an_update_of_its_id_gets_the_answer_the_id_got() {
    let bank = Fixture::with_rule(APPLIED_OF_SOURCE).await;
    assert_eq!(bank.judge("a").await.as_deref(), Ok("approve"));
    let evaluating = bank.monitor.pipeline.gate.evaluate().await;
    let release = async {
        while !bank.monitor.pipeline.gate.is_wanted() {
            tokio::task::yield_now().await;
        }
        drop(evaluating);
    };
    let (reported, judged, again, ()) =
        tokio::join!(bank.report("applied", "a"), bank.judge("a"), bank.report("applied", "a"), release);
    assert_eq!((reported, judged.as_deref(), again), (Ok(()), Ok("approve"), Ok(())));
    assert_eq!(bank.monitor.pipeline.deps.history.last_sequence(), Sequence(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_lost_on_the_way_is_undone_and_holds_nobody_up() {
    let bank = Fixture::with_rule(APPLIED_OF_SOURCE).await;
    assert_eq!(bank.judge("a").await.as_deref(), Ok("approve"));
    let pipeline = &bank.monitor.pipeline;
    let before = bank.monitor.find("a").await.unwrap().unwrap().transaction;
    let after = before.with_status(Some("applied"));
    let change = tollgate_history::StatusChange { target: Sequence(1), before, after };
    drop(
        pipeline
            .deps
            .history
            .update([change], |sequence| SequenceSlot::new(sequence, pipeline.committer.clone())),
    );
    // It may be taken back together with the lost one, and must then be sent again.
    let answer = match bank.judge("b").await {
        Err(MonitorError::Unavailable) => bank.judge("b").await,
        answer => answer,
    };
    assert_eq!(answer.as_deref(), Ok("approve"));
    assert_eq!(bank.judge("c").await.as_deref(), Ok("approve"));
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_history_comes_back_only_a_report_that_changes_nothing_is_taken() {
    let bank = Fixture::with_rule(APPLIED_OF_SOURCE).await;
    assert_eq!(bank.judge("a").await.as_deref(), Ok("approve"));
    bank.report("applied", "a").await.unwrap();
    let deps = &bank.monitor.pipeline.deps;
    let (monitor, _) = Monitor::start(MonitorDeps {
        clock: Arc::clone(&deps.clock),
        history: Arc::new(History::new()),
        restoring: Arc::new(Restoring::up_to(Sequence(2))),
        registry: Arc::clone(&deps.registry),
        holds: deps.holds.clone(),
        store: deps.store.clone(),
        commits: deps.commits.clone(),
        alerting: deps.alerting.clone(),
        pool: EvaluatorPool::start(NonZeroUsize::MIN, &Sandbox::new().unwrap()).unwrap(),
        breakers: Arc::clone(&deps.breakers),
        metrics: Arc::clone(&deps.metrics),
        arrivals: Arc::clone(&deps.arrivals),
        in_flight_max: deps.in_flight_max,
        amounts: deps.amounts,
        hashes: None,
    })
    .unwrap();
    let starting = Fixture { directory: TempDir::new().unwrap(), monitor };
    assert_eq!(starting.report("applied", "a").await, Ok(()));
    assert_eq!(starting.report("void", "a").await, Err(MonitorError::Starting));
    assert_eq!(starting.report("applied", "b").await, Err(MonitorError::Starting));
    assert_eq!(starting.status("a").await.as_deref(), Some("applied"));
}
