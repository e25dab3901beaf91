//! Failures in the transaction pipeline.

mod batches;
mod feed;
mod past;
mod reports;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;
use tollgate_engine::artifacts::{Artifacts, Compiler};
use tollgate_engine::registry::{Lists, RuleSet};
use tollgate_engine::sandbox::Sandbox;
use tollgate_model::calendar::ZoneData;
use tollgate_model::clock::SystemClock;
use tollgate_model::instruction::{InstructionId, InstructionSource};

use super::*;
use tollgate_rules::intake::{Draft, Identity, KnownNames};
use tollgate_telemetry::config::WhenNotReady;
use tollgate_telemetry::holding::PaymentHolds;
use tollgate_telemetry::readiness::ReadinessChecks;

const SECOND_OF_SOURCE: &str = r#"rule second {
    when count(when source == $current.source, "PT1H") >= 1
    then review score 0.5 reason "second"
}"#;

/// A monitor with one rule, which holds all but the first transaction of each source.
struct Fixture {
    directory: TempDir,
    monitor: Monitor,
}

fn body(id: &str) -> String {
    format!(
        r#"{{"transaction_id": "{id}", "amount": 1, "currency": "EUR", "reference": "r", "source": "acc"}}"#
    )
}

impl Fixture {
    async fn open() -> Self {
        Self::with_rule(SECOND_OF_SOURCE).await
    }

    async fn with_rule(script: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let store = Store::open(directory.path()).await.unwrap();
        let history = Arc::new(History::new());
        let sandbox = Sandbox::new().unwrap();
        let lists = Lists::default();
        let clock = SystemClock;
        let artifacts = Arc::new(Artifacts::without_cache(&sandbox, Compiler::in_this_process()));
        let known = KnownNames { lists: &lists, zones: &ZoneData::built_in(), currencies: &BTreeSet::new() };
        let draft = Draft::compile(&artifacts, known, script.to_owned()).unwrap();
        let identity = Identity::new(InstructionId(1), InstructionSource::Api, clock.now());
        let rule = Arc::new(draft.bind(&history, identity).unwrap());
        let alerting = Alerting::silent(store.clone(), Arc::new(clock));
        let checks = ReadinessChecks::new(Arc::new(clock), Arc::new(Metrics::new()));
        let (monitor, _) = Monitor::start(MonitorDeps {
            alerting,
            clock: Arc::new(clock),
            history,
            restoring: Arc::new(Restoring::done()),
            registry: Arc::new(Registry::new(RuleSet::new(1, vec![rule], lists))),
            holds: PaymentHolds::new(&checks, WhenNotReady::Review),
            store,
            commits: checks.add("commits"),
            pool: EvaluatorPool::start(NonZeroUsize::new(2).unwrap(), &sandbox).unwrap(),
            breakers: Arc::new(Breakers::new(std::time::Duration::ZERO).0),
            metrics: Arc::new(Metrics::new()),
            arrivals: Arc::new(AcceptanceOrder::after(None, Arc::new(clock))),
            in_flight_max: NonZeroUsize::new(64).unwrap(),
            amounts: AmountAgreement::Exact,
            hashes: None,
        })
        .unwrap();
        Self { directory, monitor }
    }

    async fn judge(&self, id: &str) -> Result<String, MonitorError> {
        let (transaction, fingerprint) = Transaction::parse(body(id).as_bytes(), SystemClock.now()).unwrap();
        let answer = self.monitor.judge(transaction, fingerprint).await?;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        Ok(answer["verdict"].as_str().unwrap().to_owned())
    }

    fn database(&self) -> impl AsRef<Path> {
        self.directory.path().join("tollgate.db")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_fails_is_no_answer_and_is_not_counted() {
    let bank = Fixture::open().await;
    let aside = bank.directory.path().join("aside");
    fs::rename(bank.database(), &aside).unwrap();
    for id in ["a", "b", "a"] {
        assert_eq!(bank.judge(id).await, Err(MonitorError::Unavailable));
    }
    fs::rename(&aside, bank.database()).unwrap();
    assert_eq!(bank.judge("a").await.as_deref(), Ok("approve"), "nobody of this source was accepted before");
    assert_eq!(bank.judge("b").await.as_deref(), Ok("review"));
    assert_eq!(bank.monitor.pipeline.deps.history.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_lost_on_the_way_holds_nobody_up() {
    let bank = Fixture::open().await;
    assert_eq!(bank.judge("a").await.as_deref(), Ok("approve"));
    let body = br#"{"amount": 1, "currency": "EUR", "reference": "r", "source": "other"}"#;
    let (lost, _) = Transaction::parse(body, SystemClock.now()).unwrap();
    let pipeline = &bank.monitor.pipeline;
    drop(
        pipeline
            .deps
            .history
            .admit_as(|sequence| (Arc::new(lost), SequenceSlot::new(sequence, pipeline.committer.clone()))),
    );
    // It may be taken back together with the lost one, and must then be sent again.
    let answer = match bank.judge("b").await {
        Err(MonitorError::Unavailable) => bank.judge("b").await,
        answer => answer,
    };
    assert_eq!(answer.as_deref(), Ok("review"));
    assert_eq!(pipeline.deps.history.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_id_is_judged_once_and_another_content_is_a_conflict() {
    let bank = Fixture::open().await;
    let answers = [bank.judge("a").await, bank.judge("a").await];
    assert_eq!(answers, [Ok("approve".to_owned()), Ok("approve".to_owned())]);
    let body =
        br#"{"transaction_id": "a", "amount": 2, "currency": "EUR", "reference": "r", "source": "acc"}"#;
    let (altered, fingerprint) = Transaction::parse(body, SystemClock.now()).unwrap();
    assert_eq!(bank.monitor.judge(altered, fingerprint).await, Err(MonitorError::Conflict("amount".into())));
    assert_eq!(bank.monitor.pipeline.deps.history.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_monitor_takes_nothing_on() {
    let bank = Fixture::open().await;
    assert_eq!(bank.judge("a").await.as_deref(), Ok("approve"));
    bank.monitor.stop().await;
    assert_eq!(bank.judge("b").await, Err(MonitorError::Stopping));
}
