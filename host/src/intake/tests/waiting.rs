//! Instructions that wait for the history.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;

use super::*;
use crate::history::{PastError, PastItem};
use crate::instruction::InstructionStatus;
use crate::sequence::Sequence;

/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A past that says when it is asked and answers when it is told to.
#[derive(Debug)]
struct SlowPast {
    asked: Mutex<Sender<()>>,
    go_on: Mutex<Receiver<()>>,
}

impl Past for SlowPast {
    fn each_after(
        &self,
        _after: Sequence,
        _through: Sequence,
        _show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        self.asked.lock().send(()).unwrap();
        self.go_on.lock().recv_timeout(PATIENCE).unwrap();
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_is_shown_as_activating_until_the_history_knows_what_it_asks() {
    let (asked, is_asked) = channel();
    let (go_on, is_to_go_on) = channel();
    let past = SlowPast { asked: Mutex::new(asked), go_on: Mutex::new(is_to_go_on) };
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).await.unwrap();
    let history = Arc::new(History::over(Arc::new(past)));
    history.resume_at(Sequence(5));
    history.settle(Sequence(5));
    let house = House::over(directory, store, Arc::clone(&history), None).await;
    house.intake.save(&rule("plain", "amount > 1")).await.unwrap();

    let asking = rule("asking", "count(when source == $current.source, \"PT1H\") > 1");
    let intake = house.intake.clone();
    let saving = tokio::spawn(async move { intake.save(&asking).await });
    tokio::task::block_in_place(|| is_asked.recv_timeout(PATIENCE)).unwrap();
    let statuses = || -> Vec<(String, InstructionStatus)> {
        let listed = house.intake.instructions().into_iter();
        listed.map(|one| (one.instruction.record.name.clone(), one.status)).collect()
    };
    let (plain, asking) = ("plain".to_owned(), "asking".to_owned());
    let waiting =
        [(plain.clone(), InstructionStatus::Active), (asking.clone(), InstructionStatus::Activating)];
    assert_eq!(statuses(), waiting);
    assert!(house.metrics.encode().unwrap().contains("tollgate_rules_activating 1\n"));
    assert_eq!(house.names(), ["plain"], "nothing is judged by it yet");

    go_on.send(()).unwrap();
    let saved = saving.await.unwrap().unwrap();
    assert_eq!(house.intake.instruction(saved.record.id).unwrap().status, InstructionStatus::Active);
    assert_eq!(statuses(), [(plain, InstructionStatus::Active), (asking, InstructionStatus::Active)]);
    assert!(house.metrics.encode().unwrap().contains("tollgate_rules_activating 0\n"));
}
