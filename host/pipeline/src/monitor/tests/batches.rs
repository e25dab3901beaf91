//! Transactions of a batch get their numbers in the order in which they are sent.

use futures_util::future::{BoxFuture, join_all};

use super::*;
use crate::monitor::turns::AdmissionOrder;

#[tokio::test(flavor = "multi_thread")]
async fn turns_come_in_order_however_long_each_takes_before_it() {
    const N_TURNS: u64 = 200;
    let (order, passed) = (Arc::<AdmissionOrder>::default(), Arc::new(parking_lot::Mutex::new(Vec::new())));
    // The last one begins first, and each seventh ends without having waited.
    let waiting = (0..N_TURNS).rev().map(|place| {
        let (turn, passed) = (order.turn(place), Arc::clone(&passed));
        tokio::spawn(async move {
            for _ in 0..place % 5 {
                tokio::task::yield_now().await;
            }
            if place % 7 != 0 {
                turn.wait().await;
                passed.lock().push(place);
            }
        })
    });
    join_all(waiting).await;
    let expected: Vec<u64> = (0..N_TURNS).filter(|place| place % 7 != 0).collect();
    assert_eq!(*passed.lock(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_transactions_than_permits_are_judged_in_order_and_each_id_once() {
    let bank = Fixture::open().await;
    let mut batch = bank.monitor.begin_batch().await;
    let mut answers = Vec::new();
    for number in 0..200 {
        let (transaction, fingerprint) =
            Transaction::parse(body(&format!("t{}", number / 2)).as_bytes(), SystemClock.now()).unwrap();
        let permission = batch.permission().await.unwrap();
        // A task each, because permits of later ones are waited for here.
        answers.push(tokio::spawn(batch.judge(transaction, fingerprint, permission)));
    }
    let answers = join_all(answers).await;
    for (number, answer) in answers.into_iter().enumerate() {
        let answer: Value = serde_json::from_str(&answer.unwrap().unwrap()).unwrap();
        let expected = if number < 2 { "approve" } else { "review" };
        assert_eq!(
            (&answer["transaction_id"], &answer["verdict"]),
            (&format!("t{}", number / 2).into(), &expected.into())
        );
    }
    assert_eq!(bank.monitor.pipeline.deps.history.len(), 100);
    bank.monitor.stop().await;
    assert!(batch.permission().await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_get_their_numbers_by_their_places_even_if_the_last_begins_first() {
    const N_APPROVED: u64 = 30;
    let bank = Fixture::with_rule(&SECOND_OF_SOURCE.replace(">= 1", &format!(">= {N_APPROVED}"))).await;
    let batch = bank.monitor.begin_batch().await;
    let mut answers = Vec::new();
    // As many as may be in flight.
    for place in (0..32).rev() {
        let body = body(&format!("t{place}"));
        let (transaction, fingerprint) = Transaction::parse(body.as_bytes(), SystemClock.now()).unwrap();
        let permission = batch.permission().await.unwrap();
        answers.push(tokio::spawn(batch.judge_at(place, transaction, fingerprint, permission)));
    }
    for (place, answer) in (0..32).rev().zip(join_all(answers).await) {
        let answer: Value = serde_json::from_str(&answer.unwrap().unwrap()).unwrap();
        let expected = if place < N_APPROVED { "approve" } else { "review" };
        assert_eq!(
            (&answer["transaction_id"], &answer["verdict"]),
            (&format!("t{place}").into(), &expected.into())
        );
    }
}

/// Begins to judge a transaction of this amount; all have one id.
async fn begin(batch: &mut Batch, amount: &str) -> BoxFuture<'static, MonitorAnswer> {
    let body = body("same").replace(": 1,", &format!(": {amount},"));
    let (transaction, fingerprint) = Transaction::parse(body.as_bytes(), SystemClock.now()).unwrap();
    let permission = batch.permission().await.unwrap();
    batch.judge(transaction, fingerprint, permission).boxed()
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_with_one_id_end_also_if_the_first_of_them_is_not_stored() {
    let bank = Fixture::open().await;
    let mut batch = bank.monitor.begin_batch().await;
    let aside = bank.directory.path().join("aside");
    fs::rename(bank.database(), &aside).unwrap();
    let gate = bank.monitor.pipeline.gate.update().await;
    let (first, second) = (begin(&mut batch, "1").await, begin(&mut batch, "2").await);
    drop(gate);
    assert_eq!(first.await, Err(MonitorError::Unavailable));
    fs::rename(&aside, bank.database()).unwrap();
    // It begins before the second one notices that the first has failed, and waits for its turn.
    let third = begin(&mut batch, "3").await;
    let both = tokio::time::timeout(std::time::Duration::from_secs(30), join_all([second, third]));
    let answers = both.await.expect("they do not wait for each other");
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
}
