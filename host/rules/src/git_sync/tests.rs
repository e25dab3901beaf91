//! Cases that cannot be caused from outside: a store that is unreadable for a while, and changes in a given order.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use tempfile::TempDir;
use tollgate_engine::artifacts::{Artifacts, Compiler};
use tollgate_engine::registry::{Lists, RuleSet};
use tollgate_engine::sandbox::Sandbox;
use tollgate_git::{Author, LocalClone, RepositoryAddress, Worker};
use tollgate_history::{History, Past, PastError, PastItem};
use tollgate_model::clock::SystemClock;
use tollgate_model::instruction::InstructionId;
use tollgate_model::sequence::Sequence;
use tollgate_store::Store;

use super::*;
use crate::intake::{self, Precondition, RulesDirectory};

const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A past that can be made unreadable.
#[derive(Debug)]
struct MoodyPast {
    is_readable: AtomicBool,
}

impl Past for MoodyPast {
    fn each_after(
        &self,
        _after: Sequence,
        _through: Sequence,
        _show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        let busy = || PastError { reason: "the database is locked".to_owned() };
        if self.is_readable.load(Relaxed) { Ok(()) } else { Err(busy()) }
    }
}

struct Fixture {
    sync: GitSync,
    _polling: Polling,
    intake: Intake,
    registry: Arc<Registry>,
    past: Arc<MoodyPast>,
    upstream: LocalClone,
    _directory: TempDir,
}

impl Fixture {
    async fn new(files: &[(&str, &str)]) -> Self {
        Self::that_polls_every(Duration::from_millis(50), files).await
    }

    async fn that_polls_every(poll_interval: Duration, files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let upstream = upstream(&directory.path().join("upstream"));
        commit(&upstream, files);
        let past = Arc::new(MoodyPast { is_readable: AtomicBool::new(true) });
        let history = Arc::new(History::over(Arc::clone(&past) as Arc<dyn Past>));
        // The history has transactions to read.
        history.resume_at(Sequence(5));
        history.settle(Sequence(5));
        let registry = Arc::new(Registry::new(RuleSet::new(0, Vec::new(), Lists::default())));
        let (edits, metrics) = (Arc::new(PendingEdits::default()), Arc::new(Metrics::new()));
        let sandbox = Sandbox::new().unwrap();
        let checks =
            tollgate_telemetry::readiness::ReadinessChecks::new(Arc::new(SystemClock), Arc::clone(&metrics));
        let deps = intake::IntakeDeps {
            clock: Arc::new(SystemClock),
            history,
            registry: Arc::clone(&registry),
            store: Store::open(directory.path()).await.unwrap(),
            metrics: Arc::clone(&metrics),
            breakers: Arc::new(tollgate_engine::evaluation::Breakers::new(std::time::Duration::ZERO).0),
            policy: tollgate_engine::policy::Policy::default(),
            artifacts: Arc::new(Artifacts::open(directory.path(), &sandbox, Compiler::in_this_process())),
            sandbox,
            currencies: std::collections::BTreeSet::new(),
            saves_per_minute: std::num::NonZeroU32::MAX,
            required: intake::RequiredRules::new(&checks, 0),
            lists: intake::ListGuard::new(&checks, tollgate_telemetry::config::ListsShrink::Warn),
            confirms_broad_rules: false,
            sources: crate::intake::NewSources::new(tollgate_telemetry::config::PartialSource::Hold),
            holds: tollgate_telemetry::holding::PaymentHolds::new(
                &checks,
                tollgate_telemetry::config::WhenNotReady::Review,
            ),
            checks: checks.clone(),
            sink: Some(Arc::<PendingEdits>::clone(&edits)),
        };
        let rules = RulesDirectory::by_default(directory.path().join("none"));
        let intake = Intake::start(deps, &rules).await.unwrap();
        let address = upstream.work_tree().path().join(".git").to_string_lossy().into_owned();
        let settings =
            GitSettings { repo: Some(Secret::new(address)), poll_interval, ..GitSettings::default() };
        let (sync, _polling) = GitSync::begin(GitSyncDeps {
            intake: intake.clone(),
            registry: Arc::clone(&registry),
            clock: Arc::new(SystemClock),
            metrics,
            checks,
            settings,
            directory: directory.path().join("git"),
            edits,
            worker: Worker::in_this_process(PATIENCE),
            is_optional: false,
            instance: "1f".to_owned(),
        })
        .await
        .unwrap();
        Self { sync, _polling, intake, registry, past, upstream, _directory: directory }
    }

    /// Path and name of every rule in force, sorted.
    fn in_force(&self) -> Vec<(Option<String>, String)> {
        let rule_set = self.registry.current();
        let records = rule_set.rules.iter().map(|rule| &rule.rule.instruction.record);
        let mut found: Vec<_> =
            records.map(|record| (record.source.path().map(str::to_owned), record.name.clone())).collect();
        found.sort();
        found
    }

    fn id(&self, name: &str) -> InstructionId {
        let listed = self.intake.instructions();
        listed.map(|one| one.instruction.record.clone()).find(|record| record.name == name).unwrap().id
    }

    async fn until(&self, what: &str, holds: impl AsyncFn(&GitStatus) -> bool) -> GitStatus {
        let waiting = async {
            loop {
                let status = self.sync.status().await.unwrap();
                if holds(&status).await {
                    return status;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("in vain was waited until {what}"))
    }
}

/// Creates a repository with a branch `main` and no commits.
fn upstream(directory: &Path) -> LocalClone {
    let (nowhere, _) = RepositoryAddress::parse("/nowhere.git").unwrap();
    let upstream =
        CloneDirectory::at(directory.to_owned(), Worker::in_this_process(PATIENCE)).begin(&nowhere).unwrap();
    upstream.set_branch("main").unwrap();
    // Only a bare repository accepts a push.
    let config = upstream.work_tree().path().join(".git/config");
    fs::write(&config, fs::read_to_string(&config).unwrap().replace("bare = false", "bare = true")).unwrap();
    upstream
}

/// Commits exactly these files.
fn commit(upstream: &LocalClone, files: &[(&str, &str)]) -> CommitId {
    for path in upstream.changes().unwrap().untracked.iter().chain(&tracked(upstream)) {
        fs::remove_file(upstream.work_tree().path().join(path)).unwrap();
    }
    for (path, text) in files {
        let path = upstream.work_tree().path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let author = Author { name: "Analyst".to_owned(), email: "a@bank.example".to_owned() };
    let commit = upstream.prepare(&author, "change").unwrap().unwrap().commit;
    upstream.was_pushed("main", commit).unwrap();
    commit
}

fn tracked(upstream: &LocalClone) -> Vec<String> {
    let Some(head) = upstream.head() else { return Vec::new() };
    upstream.rules_of(head).unwrap().rules.into_iter().map(|file| file.path).collect()
}

fn rule(name: &str, condition: &str) -> String {
    format!("rule {name} {{ when {condition} then review score 0.5 reason \"{name}\" }}")
}

fn at(path: &str, name: &str) -> (Option<String>, String) {
    (Some(path.to_owned()), name.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_history_delays_a_commit_until_a_later_poll() {
    let (plain, other) = (rule("a", "amount > 1"), rule("b", "amount > 1"));
    let fixture = Fixture::new(&[("a.ws", &plain), ("b.ws", &other)]).await;
    assert_eq!(fixture.in_force(), [at("a.ws", "a"), at("b.ws", "b")]);
    let before = fixture.registry.current();

    fixture.past.is_readable.store(false, Relaxed);
    let asking = rule("a", "count(when source == $current.source, \"PT1H\") > 1");
    let commit = commit(&fixture.upstream, &[("moved.ws", &asking), ("c.ws", &rule("c", "amount > 1"))]);
    let status = fixture
        .until("the failure is shown", async |status: &GitStatus| {
            status.last_error.as_ref().is_some_and(|error| error.code == "unavailable")
        })
        .await;
    assert!(Arc::ptr_eq(&before, &fixture.registry.current()), "nothing of the commit is in force");
    assert_ne!(status.current_commit, Some(commit));

    fixture.past.is_readable.store(true, Relaxed);
    fixture.until("a poll takes it", async |status: &GitStatus| status.current_commit == Some(commit)).await;
    assert_eq!(fixture.in_force(), [at("c.ws", "c"), at("moved.ws", "a")]);
    fixture.until("the error is gone", async |status: &GitStatus| status.last_error.is_none()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_file_has_its_turn_when_another_rule_leaves_its_name() {
    let other = rule("b", "amount > 1");
    let fixture = Fixture::new(&[("b.ws", &other)]).await;
    let saved = fixture.intake.save(&rule("a", "amount > 1")).await.unwrap();
    commit(&fixture.upstream, &[("a.ws", &rule("a", "amount > 2")), ("b.ws", &other)]);
    fixture.until("it is refused", async |status: &GitStatus| status.failed.len() == 1).await;
    fixture.intake.remove(saved.instruction.record.id, Precondition::None).await.unwrap();
    fixture.until("a poll takes it", async |status: &GitStatus| status.failed.is_empty()).await;
    assert_eq!(fixture.in_force(), [at("a.ws", "a"), at("b.ws", "b")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_shows_what_was_saved_and_writes_nothing_itself() {
    let fixture =
        Fixture::that_polls_every(Duration::from_secs(3_600), &[("b.ws", &rule("b", "amount > 1"))]).await;
    let Fixture { sync, intake, _polling, _directory, .. } = fixture;
    let untracked = async || sync.status().await.unwrap().changes.untracked;
    intake.save(&rule("a", "amount > 1")).await.unwrap();
    assert_eq!(untracked().await, ["a.ws"]);

    // Without the task that writes, a status leaves the work tree as it is.
    drop(_polling);
    intake.save(&rule("c", "amount > 1")).await.unwrap();
    assert_eq!(untracked().await, ["a.ws"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_that_is_removed_and_saved_again_at_once_leaves_its_old_file() {
    let old = rule("a", "amount > 1");
    let fixture = Fixture::new(&[("cards/a.ws", &old), ("b.ws", &rule("b", "amount > 1"))]).await;
    let new = rule("a", "amount > 2");
    {
        // No files are written while this lock is held.
        let inner = Arc::clone(&fixture.sync.inner);
        let (intake, id, script) = (fixture.intake.clone(), fixture.id("a"), new.clone());
        let (held, is_held) = std::sync::mpsc::channel();
        let (go_on, is_to_go_on) = std::sync::mpsc::channel::<()>();
        let holding = std::thread::spawn(move || {
            let _writing = inner.writing.lock();
            held.send(()).unwrap();
            is_to_go_on.recv_timeout(PATIENCE).unwrap();
        });
        is_held.recv_timeout(PATIENCE).unwrap();
        intake.remove(id, Precondition::None).await.unwrap();
        intake.save(&rule("a", "amount > 3")).await.unwrap();
        let id = fixture.id("a");
        intake.remove(id, Precondition::None).await.unwrap();
        intake.save(&script).await.unwrap();
        go_on.send(()).unwrap();
        holding.join().unwrap();
    }
    let status = fixture.sync.status().await.unwrap();
    assert_eq!(
        (status.changes.deleted, status.changes.untracked),
        (vec!["cards/a.ws".to_owned()], vec!["a.ws".to_owned()])
    );
    assert_eq!(fs::read_to_string(status.local_path.join("a.ws")).unwrap(), new);
    assert_eq!(status.unwritten, []);
    let published = fixture.sync.push("The new one").await.unwrap();
    assert_eq!(published.files, ["a.ws", "cards/a.ws"]);
    assert_eq!(fixture.in_force(), [at("a.ws", "a"), at("b.ws", "b")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_a_request_left_behind_is_written_without_a_word() {
    let fixture = Fixture::that_polls_every(PATIENCE * 10, &[("b.ws", &rule("b", "amount > 1"))]).await;
    let local_path = fixture.sync.status().await.unwrap().local_path;
    let is_written = async |list: &str| {
        let path = local_path.join("lists").join(list).with_extension("txt");
        let written = async {
            while fs::read_to_string(&path).unwrap_or_default() != "EUR\n" {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        timeout(PATIENCE, written).await.expect("it is written");
    };
    let edits = &fixture.sync.inner.deps.edits;
    edits.leave_behind("first", "EUR\n");
    edits.came.notify_one();
    is_written("first").await;
    edits.leave_behind("second", "EUR\n");
    is_written("second").await;
}
