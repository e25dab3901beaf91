//! The log of transactions.

use std::time::{Duration, Instant};

use sqlx::ConnectOptions as _;

use super::*;

#[tokio::test]
async fn recorded_transactions_are_read_back_unchanged() {
    let directory = directory();
    let store = open(&directory).await;
    assert_eq!(store.last_sequence().await.unwrap(), Sequence(0));
    assert_eq!(all(&store).await, []);
    let group = records(1..=700);
    store.record(&group).await.unwrap();
    assert_eq!(all(&store).await, group);
    assert_eq!(store.transaction("t-512").await.unwrap(), Some(group[511].clone()));
    assert_eq!(store.transaction("t-701").await.unwrap(), None);
    assert_eq!(store.last_sequence().await.unwrap(), Sequence(700));
    store.check().await.unwrap();
}

#[tokio::test]
async fn a_scan_goes_on_after_the_last_one_seen() {
    let directory = directory();
    let store = open(&directory).await;
    let group: Vec<_> = [2, 3, 5, 8, 13].iter().map(|n| record(*n, &format!("t-{n}"))).collect();
    store.record(&group).await.unwrap();
    assert_eq!(store.scan(Sequence(0), 2).await.unwrap(), group[..2]);
    assert_eq!(store.scan(Sequence(3), 2).await.unwrap(), group[2..4]);
    assert_eq!(store.scan(Sequence(8), 2).await.unwrap(), group[4..]);
    assert_eq!(store.scan(Sequence(13), 2).await.unwrap(), []);
    assert_eq!(store.scan(Sequence(0), 0).await.unwrap(), []);
    assert_eq!(store.scan(Sequence(u64::MAX), 9).await.unwrap(), []);
}

#[tokio::test]
async fn a_group_is_kept_whole_or_not_at_all() {
    let directory = directory();
    let store = open(&directory).await;
    store.record(&records(1..=3)).await.unwrap();
    let mut twice_inside = records(4..=300);
    twice_inside.push(record(301, "t-4"));
    let mut taken_before = records(4..=300);
    taken_before.push(record(301, "t-2"));
    let mut sequence_taken = records(4..=300);
    sequence_taken.push(record(3, "t-new"));
    let mut uncountable = records(4..=300);
    uncountable.push(record(u64::MAX, "t-new"));
    for group in [twice_inside, taken_before, sequence_taken, uncountable] {
        let error = store.record(&group).await.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");
        assert_eq!(all(&store).await, records(1..=3));
    }
    store.record(&[]).await.unwrap();
    store.record(&records(4..=6)).await.unwrap();
    assert_eq!(all(&store).await, records(1..=6));
}

#[tokio::test]
async fn hostile_texts_are_only_texts() {
    let directory = directory();
    let store = open(&directory).await;
    let ids = [
        "'; DROP TABLE transactions; --",
        "\"",
        "''",
        "?1",
        "$1",
        ":id",
        "%",
        "_",
        "\\",
        "NULL",
        "",
        " ",
        "a\0b",
        "É",
        "E\u{301}",
        "e\u{301}",
        "\u{202e}x",
        "1' OR '1'='1",
        "x",
        "X",
    ];
    let group: Vec<_> = ids.iter().zip(1..).map(|(id, sequence)| record(sequence, id)).collect();
    store.record(&group).await.unwrap();
    for record in &group {
        assert_eq!(store.transaction(&record.transaction_id).await.unwrap().as_ref(), Some(record));
    }
    assert_eq!(store.transaction("' OR 1=1 --").await.unwrap(), None);
}

#[tokio::test]
async fn a_group_of_any_size_is_kept_whole() {
    let directory = directory();
    let store = open(&directory).await;
    let mut last = 0;
    // Twice, so that prepared statements are used again.
    for size in (1..=130).chain([256, 300]).chain(1..=130) {
        store.record(&records(last + 1..=last + size)).await.unwrap();
        last += size;
    }
    assert_eq!(all(&store).await, records(1..=last));
}

#[tokio::test]
async fn recorded_transactions_survive_a_restart_with_or_without_a_close() {
    let directory = directory();
    for (round, sequences) in [1..=2, 3..=4, 5..=6].into_iter().enumerate() {
        let store = open(&directory).await;
        store.record(&records(sequences)).await.unwrap();
        if round == 0 {
            store.close().await;
        }
    }
    assert_eq!(all(&open(&directory).await).await, records(1..=6));
}

#[tokio::test]
async fn a_copy_of_the_files_taken_while_running_holds_every_answered_transaction() {
    let (directory, copy) = (directory(), directory());
    let store = open(&directory).await;
    store.record(&records(1..=50)).await.unwrap();
    for file in ["tollgate.db", "tollgate.db-wal"] {
        std::fs::copy(directory.path().join(file), copy.path().join(file)).unwrap();
    }
    assert_eq!(all(&open(&copy).await).await, records(1..=50));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_see_a_growing_prefix_while_groups_are_written() {
    const N_GROUPS: u64 = 40;
    let directory = directory();
    let store = open(&directory).await;
    let readers: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut seen = 0;
                while seen < N_GROUPS * 10 {
                    let last = store.last_sequence().await.unwrap().0;
                    assert!(last >= seen && last % 10 == 0, "a group is seen whole: {last} after {seen}");
                    assert_eq!(store.scan(Sequence(0), usize::MAX).await.unwrap().len() as u64 % 10, 0);
                    if last > 0 {
                        assert!(store.transaction(&format!("t-{last}")).await.unwrap().is_some());
                    }
                    seen = last;
                }
            })
        })
        .collect();
    for group in 0..N_GROUPS {
        store.record(&records(group * 10 + 1..=group * 10 + 10)).await.unwrap();
    }
    for reader in readers {
        reader.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_that_write_at_the_same_time_take_turns() {
    let directory = directory();
    let store = open(&directory).await;
    let writers: Vec<_> = (1..=64)
        .map(|sequence| {
            let store = store.clone();
            tokio::spawn(async move { store.record(&records(sequence..=sequence)).await })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    assert_eq!(all(&store).await, records(1..=64));
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_no_half_of_a_group() {
    let directory = directory();
    let store = open(&directory).await;
    let group = records(1..=512);
    for n_polls in 1..40 {
        let mut call = Box::pin(store.record(&group));
        let mut left = n_polls;
        // Drops the call after `n_polls` polls.
        let given_up = std::future::poll_fn(|context| {
            left -= 1;
            match call.as_mut().poll(context) {
                std::task::Poll::Pending if left > 0 => std::task::Poll::Pending,
                _ => std::task::Poll::Ready(()),
            }
        });
        given_up.await;
        drop(call);
        let kept = all(&store).await.len();
        assert!(kept == 0 || kept == 512, "{kept} after {n_polls} polls");
    }
    store.record(&[record(1_000, "after")]).await.unwrap();
}

#[tokio::test]
async fn a_rebuild_reads_100_000_transactions_in_seconds() {
    let directory = directory();
    let store = open(&directory).await;
    for start in (0..100_000).step_by(500) {
        store.record(&records(start + 1..=start + 500)).await.unwrap();
    }
    let started = Instant::now();
    let (mut after, mut n_read) = (Sequence(0), 0);
    loop {
        let page = store.scan(after, 4_096).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.sequence;
        n_read += page.len();
    }
    assert_eq!(n_read, 100_000);
    let elapsed = started.elapsed();
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
    println!("100,000 transactions read in {elapsed:?}");
}

#[tokio::test]
async fn a_full_disk_refuses_the_group_and_the_store_recovers_by_itself() {
    let directory = directory();
    let store = open(&directory).await;
    store.record(&records(1..=10)).await.unwrap();
    let mut lease = store.inner.writer.lease().await.unwrap();
    // The database may not grow beyond its current size.
    sqlx::query("PRAGMA max_page_count = 1").fetch_one(lease.connection()).await.unwrap();
    lease.give_back(Ok(())).await.unwrap();
    let error = store.record(&records(11..=1_000)).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!(all(&store).await, records(1..=10));
    store.record(&records(11..=1_000)).await.unwrap();
    assert_eq!(all(&store).await, records(1..=1_000));
}

#[tokio::test]
async fn a_lock_held_by_another_tool_is_waited_for_only_so_long() {
    let directory = directory();
    let store = open(&directory).await;
    let tool = connection::writing(&directory.path().join("tollgate.db"));
    let mut tool = tool.connect().await.unwrap();
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut tool).await.unwrap();
    let error = store.record(&records(1..=1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
    store.check().await.unwrap();
    sqlx::query("ROLLBACK").execute(&mut tool).await.unwrap();
    store.record(&records(1..=1)).await.unwrap();
}

#[tokio::test]
async fn after_a_write_the_disk_did_not_confirm_nothing_more_is_written() {
    let directory = directory();
    let store = open(&directory).await;
    store.record(&records(1..=1)).await.unwrap();
    let lease = store.inner.writer.lease().await.unwrap();
    let unconfirmed = Err::<(), _>(StoreError::SyncFailed { source: "refused".into() });
    lease.give_back(unconfirmed).await.unwrap_err();
    for _ in 0..2 {
        let error = store.record(&records(2..=2)).await.unwrap_err();
        assert!(matches!(error, StoreError::SyncFailed { .. }), "{error:?}");
    }
    assert_eq!(all(&store).await, records(1..=1));
}
