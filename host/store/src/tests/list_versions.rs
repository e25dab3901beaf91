//! Versions of named lists: what is stored of each, and which are removed.

use tollgate_guest_abi::Semantics;

use super::*;

const N_LINES: usize = 2_000;

/// A version of the rule set with one list, twenty minutes after the version before it.
fn set(version: u64, entries: &str) -> RuleSetRecord {
    let list = ListRecord {
        name: "l".into(),
        entries: entries.into(),
        digest: ContentDigest::of_bytes(entries.as_bytes()),
        source: InstructionSource::Api,
    };
    let seconds = i64::try_from(version).unwrap() * 1_200;
    RuleSetRecord {
        version,
        created_at: DateTime::from_timestamp(seconds, 5).unwrap(),
        instructions: Vec::new(),
        lists: vec![list],
        commit: None,
        service: None,
        semantics: Semantics::CURRENT,
        zones: None,
        status_words: None,
        holds: tollgate_model::hold::Holds::default(),
    }
}

/// The entries of the list in a version: one of many lines differs.
fn entries(version: u64) -> String {
    let at = usize::try_from(version).unwrap() * 31 % N_LINES;
    let line = |n| if n == at { format!("changed-{version}\n") } else { format!("account-{n:08}\n") };
    (0..N_LINES).map(line).collect()
}

async fn judge(store: &Store, sequence: u64, version: u64) -> Result<(), StoreError> {
    let judged =
        TransactionRecord { rule_set_version: version, ..record(sequence, &format!("t-{sequence}")) };
    store.record(&[judged]).await
}

async fn number(store: &Store, question: &'static str) -> i64 {
    sqlx::query_scalar(question).fetch_one(&store.inner.readers).await.unwrap()
}

/// Returns the entries of a version, if it still has them.
async fn stored(store: &Store, version: u64) -> Option<String> {
    let parts = store.rule_set_parts(version).await.unwrap().unwrap();
    let (_, digest) = parts.lists.first()?;
    store.list_entries(*digest).await.unwrap()
}

#[tokio::test]
async fn a_list_that_changes_in_one_line_is_stored_as_differences() {
    let directory = directory();
    let mut store = open(&directory).await;
    for version in 1..=60 {
        store.install(&set(version, &entries(version))).await.unwrap();
        judge(&store, version, version).await.unwrap();
        if version % 20 == 0 {
            // The next change is compared with the file.
            store.close().await;
            store = open(&directory).await;
        }
    }
    let n_bytes = number(&store, "SELECT sum(length(entries)) FROM lists").await;
    let n_whole = number(&store, "SELECT count(*) FROM lists WHERE base IS NULL").await;
    assert!(
        n_bytes < 3 * i64::try_from(entries(1).len()).unwrap() && n_whole <= 2,
        "{n_bytes} bytes, {n_whole}"
    );
    for version in 1..=60 {
        assert_eq!(stored(&store, version).await, Some(entries(version)), "{version}");
    }
    assert_eq!(*store.lists().await.unwrap()[0].entries, *entries(60));
    // Entries that come back are those that are there.
    store.install(&set(61, &entries(30))).await.unwrap();
    assert_eq!(*store.lists().await.unwrap()[0].entries, *entries(30));
    assert_eq!(number(&store, "SELECT count(*) FROM lists").await, 60);
    store.close().await;
    let found = examine(directory.path()).await.unwrap();
    let lists = found.iter().find(|finding| finding.what == "lists").unwrap();
    assert_eq!(lists.result.as_deref(), Ok("all contents match their digests"));
}

#[tokio::test]
async fn versions_of_a_list_that_judged_nothing_are_removed_and_no_other() {
    let directory = directory();
    let store = open(&directory).await;
    for version in 1..=5 {
        store.install(&set(version, &entries(version))).await.unwrap();
        if [2, 4].contains(&version) {
            judge(&store, version, version).await.unwrap();
        }
    }
    store.install(&set(6, &entries(6))).await.unwrap();
    // The fifth was replaced just now: a payment that it judges may be on its way.
    for (version, is_kept) in [(1, false), (2, true), (3, false), (4, true), (5, true), (6, true)] {
        assert_eq!(stored(&store, version).await, is_kept.then(|| entries(version)), "{version}");
    }
    assert!(matches!(judge(&store, 7, 1).await, Err(StoreError::Conflict { .. })));
    for version in [5, 6, 2] {
        judge(&store, 7 + version, version).await.unwrap();
    }
    store.install(&set(7, &entries(7))).await.unwrap();
    assert_eq!(stored(&store, 5).await, Some(entries(5)));
}
