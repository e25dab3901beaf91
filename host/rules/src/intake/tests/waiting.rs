//! Instructions that wait for the history.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use chrono::DateTime;
use parking_lot::Mutex;
use tollgate_history::{PastError, PastItem, RunningFills};
use tollgate_model::instruction::InstructionStatus;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);
/// Steps that are stored, and those that a slow past shows before it waits.
const N_STORED: u64 = 5;
const N_STEPS_AT_ONCE: usize = 2;

/// A past that signals each read after two steps, and waits for the test to continue.
#[derive(Debug)]
struct SlowPast {
    asked: Mutex<Sender<()>>,
    go_on: Mutex<Receiver<()>>,
}

impl Past for SlowPast {
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        let sent =
            br#"{"transaction_id": "t", "amount": 1, "currency": "EUR", "reference": "r", "source": "a", "destination": "b"}"#;
        let transaction = &Transaction::parse(sent, DateTime::default()).unwrap().0;
        for sequence in (after.0 + 1..=through.0).take(N_STEPS_AT_ONCE).map(Sequence) {
            show(PastItem::Accepted { sequence, transaction });
        }
        self.asked.lock().send(()).unwrap();
        self.go_on.lock().recv_timeout(PATIENCE).unwrap();
        Ok(())
    }

    // An estimate does not wait.
    fn each_of(
        &self,
        _: &[Sequence],
        _: &mut dyn FnMut(Sequence, &Transaction, usize) -> bool,
    ) -> Result<(), PastError> {
        Ok(())
    }
}

/// Returns an intake over a slow past, a signal of each read, and a sender that lets a read end.
async fn slow() -> (Fixture, Receiver<()>, Sender<()>) {
    let (asked, is_asked) = channel();
    let (go_on, is_to_go_on) = channel();
    let past = SlowPast { asked: Mutex::new(asked), go_on: Mutex::new(is_to_go_on) };
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).await.unwrap();
    let history = Arc::new(History::over(Arc::new(past)));
    history.resume_at(Sequence(N_STORED));
    history.settle(Sequence(N_STORED));
    (Fixture::over(directory, store, history, None).await, is_asked, go_on)
}

/// A past that is unreadable until the test allows reads.
#[derive(Debug, Default)]
struct LockedPast {
    is_readable: AtomicBool,
}

impl Past for LockedPast {
    fn each_after(
        &self,
        _after: Sequence,
        _through: Sequence,
        _show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        let locked = PastError { reason: "the database is locked".to_owned() };
        if self.is_readable.load(Ordering::Relaxed) { Ok(()) } else { Err(locked) }
    }
}

#[tokio::test]
async fn a_tree_with_a_rule_whose_past_cannot_be_read_changes_nothing_at_all() {
    let past = Arc::new(LockedPast::default());
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).await.unwrap();
    let history = Arc::new(History::over(Arc::clone(&past) as Arc<dyn Past>));
    history.resume_at(Sequence(5));
    history.settle(Sequence(5));
    let fixture = Fixture::over(directory, store, history, None).await;
    fixture.take(git("c1"), &[("a.ws", &rule("a", "amount > 1")), ("b.ws", &rule("b", "amount > 1"))]).await;
    let before = fixture.registry.current();

    // The rule moves to another file, another file changes, a third breaks.
    let asking = rule("a", "count(when source == $current.source, \"PT1H\") > 1");
    let changed = rule("b", "amount > 2");
    let files = [("b.ws", changed.as_str()), ("broken.ws", "rule"), ("c.ws", &asking)];
    let refused = fixture.intake.take_tree(tree(git("c2"), &files)).await;
    assert!(matches!(refused, Err(IntakeError::Unavailable)), "{refused:?}");
    assert!(Arc::ptr_eq(&before, &fixture.registry.current()));
    assert_eq!(fixture.intake.n_refused_files(), 0);

    past.is_readable.store(true, Ordering::Relaxed);
    let report = fixture.take(git("c2"), &files).await;
    assert_eq!(
        (report.changed.as_slice(), report.failed.len()),
        (["b.ws".to_owned(), "c.ws".to_owned()].as_slice(), 1)
    );
    assert_eq!(fixture.in_force(), [("a".to_owned(), 1, asking), ("b".to_owned(), 2, changed)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_is_shown_as_activating_until_the_history_knows_what_it_asks() {
    let (fixture, is_asked, go_on) = slow().await;
    fixture.intake.save(&rule("plain", "amount > 1")).await.unwrap();

    let asking = rule("asking", "count(when source == $current.source, \"PT1H\") > 1");
    let intake = fixture.intake.clone();
    let saving = tokio::spawn(async move { intake.save(&asking).await });
    tokio::task::block_in_place(|| is_asked.recv_timeout(PATIENCE)).unwrap();
    let statuses = || -> Vec<(String, InstructionStatus)> {
        let listed = fixture.intake.instructions();
        listed.map(|one| (one.instruction.record.name.clone(), one.status)).collect()
    };
    let (plain, asking) = ("plain".to_owned(), "asking".to_owned());
    let waiting =
        [(plain.clone(), InstructionStatus::Active), (asking.clone(), InstructionStatus::Activating)];
    assert_eq!(statuses(), waiting);
    assert!(fixture.metrics.encode().unwrap().contains("tollgate_rules_activating 1\n"));
    assert_eq!(fixture.names(), ["plain"], "nothing is judged by it yet");

    go_on.send(()).unwrap();
    let saved = saving.await.unwrap().unwrap();
    assert_eq!(
        fixture.intake.instruction(saved.instruction.record.id).unwrap().status,
        InstructionStatus::Active
    );
    assert_eq!(statuses(), [(plain, InstructionStatus::Active), (asking, InstructionStatus::Active)]);
    assert!(fixture.metrics.encode().unwrap().contains("tollgate_rules_activating 0\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_progress_of_a_rule_is_the_share_that_the_history_has_gathered() {
    let (fixture, is_asked, go_on) = slow().await;
    let two = r#"count(when source == $current.source, "PT1H") > 1 and count(when destination == $current.destination, "PT1H") > 1"#;
    let begun = fixture.intake.begin_save(&rule("asking", two)).await.unwrap();
    let progress = || fixture.intake.instruction(begun.instruction.record.id).unwrap().progress;
    for expected in [0.2, 0.7] {
        tokio::task::block_in_place(|| is_asked.recv_timeout(PATIENCE)).unwrap();
        assert_eq!(progress(), Some(expected));
        let running = fixture.history().running_fills();
        assert_eq!(running, RunningFills { n_series: 1, n_left: N_STORED - N_STEPS_AT_ONCE as u64 });
        go_on.send(()).unwrap();
    }
    let deadline = std::time::Instant::now() + PATIENCE;
    while progress().is_some() {
        assert!(std::time::Instant::now() < deadline, "it does not come into force");
        tokio::task::yield_now().await;
    }
    assert_eq!(fixture.names(), ["asking"]);
    assert_eq!(fixture.history().running_fills(), RunningFills::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_changes_go_on_while_the_history_gathers_what_a_rule_asks() {
    let (fixture, is_asked, go_on) = slow().await;
    let plain = fixture.intake.save(&rule("plain", "amount > 1")).await.unwrap();
    let asking = |name: &str, field: &str| {
        rule(name, &format!("count(when {field} == $current.{field}, \"PT1H\") > 1"))
    };

    let begun = fixture.intake.begin_save(&asking("asking", "source")).await.unwrap();
    assert_eq!(begun.status, InstructionStatus::Activating);
    tokio::task::block_in_place(|| is_asked.recv_timeout(PATIENCE)).unwrap();
    // Another save, a removal and a refusal do not wait.
    fixture.intake.save(&rule("quick", "amount > 2")).await.unwrap();
    fixture.intake.remove(plain.instruction.record.id, Precondition::None).await.unwrap();
    let taken = fixture.intake.save(&rule("asking", "amount > 3")).await;
    let holder = begun.instruction.record.id;
    assert!(
        matches!(&taken, Err(IntakeError::NameTaken { holder: known, .. }) if *known == holder),
        "{taken:?}"
    );
    assert_eq!(fixture.names(), ["quick"]);
    // It can be removed before it is in force.
    let intake = fixture.intake.clone();
    let script = asking("other", "destination");
    let begun = intake.begin_save(&script).await.unwrap();
    let other = begun.instruction;
    assert_eq!(fixture.intake.instruction(other.record.id).unwrap().status, InstructionStatus::Activating);
    fixture.intake.remove(other.record.id, Precondition::None).await.unwrap();
    assert!(fixture.intake.instruction(other.record.id).is_none());
    go_on.send(()).unwrap();
    let is_in_force = || fixture.names() == ["asking", "quick"];
    let deadline = std::time::Instant::now() + PATIENCE;
    while !is_in_force() {
        assert!(std::time::Instant::now() < deadline, "{:?}", fixture.names());
        tokio::task::yield_now().await;
    }
    assert_eq!(fixture.intake.instruction(holder).unwrap().status, InstructionStatus::Active);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_changes_go_on_while_the_history_gathers_what_a_tree_asks() {
    let (fixture, is_asked, go_on) = slow().await;
    let asking = rule("asking", "count(when source == $current.source, \"PT1H\") > 1");
    let (intake, files) = (fixture.intake.clone(), tree(git("c1"), &[("a.ws", &asking)]));
    let taking = tokio::spawn(async move { intake.take_tree(files).await });
    tokio::task::block_in_place(|| is_asked.recv_timeout(PATIENCE)).unwrap();
    let quick = fixture.intake.save(&rule("quick", "amount > 2")).await.unwrap();
    fixture.intake.remove(quick.instruction.record.id, Precondition::None).await.unwrap();
    assert!(fixture.names().is_empty());
    go_on.send(()).unwrap();
    assert_eq!(taking.await.unwrap().unwrap().loaded, ["a.ws"]);
    assert_eq!(fixture.names(), ["asking"]);
}
