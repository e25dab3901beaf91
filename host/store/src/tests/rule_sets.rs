//! Versions of the rule set.

use std::slice;

use tollgate_guest_abi::Semantics;
use tollgate_model::hold::Holds;
use tollgate_model::instruction::{Grant, Origin, Quarantine, QuarantineCause};

use super::*;

fn time(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 123_456_789).unwrap()
}

fn instruction(id: i64, name: &str, script: &str) -> InstructionRecord {
    InstructionRecord {
        owner: None,
        id: InstructionId(id),
        name: name.to_owned(),
        script: Some(script.to_owned()),
        source: InstructionSource::File { path: format!("velocity/{name}.ws") },
        module: format!("\0asm {script}").into_bytes(),
        created_at: time(1_000 + id),
        updated_at: time(2_000 + id),
        quarantine: None,
        origin: None,
    }
}

fn set(version: u64, instructions: &[InstructionRecord], lists: &[(&str, &str)]) -> RuleSetRecord {
    RuleSetRecord {
        version,
        created_at: time(0),
        instructions: instructions.iter().cloned().map(Arc::new).collect(),
        lists: lists
            .iter()
            .map(|(name, entries)| ListRecord {
                name: (*name).into(),
                entries: (*entries).into(),
                digest: ContentDigest::of_bytes(entries.as_bytes()),
                source: InstructionSource::File { path: format!("lists/{name}.txt") },
            })
            .collect(),
        commit: None,
        service: None,
        semantics: Semantics::CURRENT,
        zones: None,
        status_words: None,
        holds: Holds::default(),
    }
}

/// Checks that the store returns what the set contains, also after it is opened again.
#[track_caller]
fn check<'a>(store: &'a Store, set: &'a RuleSetRecord) -> impl Future<Output = ()> + 'a {
    let place = std::panic::Location::caller();
    async move {
        let identity = store.last_rule_set().await.unwrap().unwrap();
        let members: Vec<_> =
            set.instructions.iter().map(|one| (one.id, ContentDigest::of_bytes(&one.module))).collect();
        let lists: Vec<_> = set
            .lists
            .iter()
            .map(|list| (list.name.clone(), ContentDigest::of_bytes(list.entries.as_bytes())))
            .collect();
        let expected = RuleSetIdentity {
            version: set.version,
            members,
            lists,
            commit: set.commit.clone(),
            service: set.service.clone(),
            semantics: set.semantics,
            zones: set.zones.as_ref().map(|zones| zones.digest),
            status_words: set.status_words.as_ref().map(|words| words.digest),
            holds: set.holds,
        };
        assert_eq!(identity, expected, "{place}");
        let instructions: Vec<_> = store.instructions().await.unwrap().into_iter().map(Arc::new).collect();
        assert_eq!(instructions, set.instructions, "{place}");
        assert_eq!(store.lists().await.unwrap(), set.lists, "{place}");
    }
}

#[tokio::test]
async fn a_store_begins_without_rules() {
    let directory = directory();
    let store = open(&directory).await;
    assert_eq!(store.last_rule_set().await.unwrap(), None);
    assert_eq!(store.instructions().await.unwrap(), []);
    assert_eq!(store.lists().await.unwrap(), []);
    assert_eq!(store.last_instruction_id().await.unwrap(), 0);
}

#[tokio::test]
async fn the_last_version_is_in_force_also_after_a_restart() {
    let directory = directory();
    let store = open(&directory).await;
    let (a, b, c) = (instruction(1, "a", "one"), instruction(2, "b", "two"), instruction(3, "c", "one"));
    let first = set(1, &[a.clone(), b.clone()], &[("countries", "NG\n"), ("mules", "")]);
    store.install(&first).await.unwrap();
    check(&store, &first).await;

    let mut changed = b.clone();
    changed.script = Some("three".to_owned());
    changed.module = b"\0asm three".to_vec();
    changed.source = InstructionSource::Api;
    changed.updated_at = time(9_000);
    let second = set(5, &[changed, c], &[("countries", "NG\nKP\n"), ("new", "x")]);
    store.install(&second).await.unwrap();
    check(&store, &second).await;

    store.close().await;
    let store = open(&directory).await;
    check(&store, &second).await;
    // A removed instruction may return; unchanged ones stay.
    let third = set(6, &[a, b], &[("mules", "")]);
    store.install(&third).await.unwrap();
    check(&store, &third).await;
    let none = set(7, &[], &[]);
    store.install(&none).await.unwrap();
    check(&store, &none).await;
}

#[tokio::test]
async fn a_version_that_was_refused_is_not_what_the_next_is_compared_with() {
    let directory = directory();
    let store = open(&directory).await;
    let (a, b, c) = (instruction(1, "a", "one"), instruction(2, "b", "two"), instruction(3, "c", "three"));
    let first = set(1, &[a.clone(), b.clone()], &[("countries", "NG\n")]);
    store.install(&first).await.unwrap();
    for refused in [set(1, slice::from_ref(&c), &[]), set(2, &[a.clone(), c.clone(), c.clone()], &[])] {
        let error = store.install(&refused).await.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
        check(&store, &first).await;
    }
    let mut second = set(2, &[c, a], &[("countries", "NG\n")]);
    store.install(&second).await.unwrap();
    second.instructions.sort_by_key(|one| one.id);
    check(&store, &second).await;
}

#[tokio::test]
async fn a_version_names_its_commit_and_a_list_where_it_comes_from() {
    let directory = directory();
    let store = open(&directory).await;
    let mut of_git = set(1, &[instruction(1, "a", "x")], &[("l", "1")]);
    of_git.commit = Some("0f".repeat(20).into());
    store.install(&of_git).await.unwrap();
    check(&store, &of_git).await;
    // The same text from another source is a change.
    let mut of_api = set(2, &[instruction(1, "a", "x")], &[("l", "1")]);
    of_api.lists[0].source = InstructionSource::Api;
    store.install(&of_api).await.unwrap();
    check(&store, &of_api).await;
}

#[tokio::test]
async fn whether_a_rule_is_in_quarantine_is_part_of_a_version() {
    let directory = directory();
    let store = open(&directory).await;
    let quarantine =
        Quarantine { since: time(3), cause: QuarantineCause::Failures, reason: "it failed".into() };
    let kept = |version, quarantine| {
        let failing = InstructionRecord { quarantine, ..instruction(1, "a", "x") };
        set(version, &[failing, instruction(2, "b", "y")], &[])
    };
    for (version, quarantine) in [(1, None), (2, Some(quarantine)), (3, None)] {
        let set = kept(version, quarantine);
        store.install(&set).await.unwrap();
        check(&store, &set).await;
    }
}

#[tokio::test]
async fn every_version_records_all_that_its_verdicts_depend_on() {
    let directory = directory();
    let store = open(&directory).await;
    let granted = |fuel| Origin::Untrusted(Grant { fuel, host_calls: 2, memory_bytes: 3 });
    let on = |terms| InstructionRecord { origin: Some(terms), ..instruction(1, "a", "x") };
    for (version, terms) in [(1, Origin::Compiler), (2, granted(1)), (3, granted(4)), (5, Origin::Nobody)] {
        let mut set = set(version, &[on(terms)], &[("l", &version.to_string())]);
        set.service = Some(format!("0.{version}").into());
        store.install(&set).await.unwrap();
        check(&store, &set).await;
    }
    for (version, terms) in [(1, Origin::Compiler), (2, granted(1)), (3, granted(4)), (5, Origin::Nobody)] {
        let parts = store.rule_set_parts(version).await.unwrap().unwrap();
        let member = MemberRecord {
            owner: None,
            id: InstructionId(1),
            name: "a".to_owned(),
            is_script: true,
            digest: ContentDigest::of_bytes(b"\0asm x"),
            quarantine: None,
            origin: Some(terms),
        };
        let lists = vec![("l".to_owned(), ContentDigest::of_bytes(version.to_string().as_bytes()))];
        let service = Some(format!("0.{version}").into());
        let semantics = Semantics::CURRENT;
        let members = vec![member];
        assert_eq!(
            parts,
            RuleSetParts {
                members,
                lists,
                service,
                semantics,
                zones: None,
                status_words: None,
                holds: Holds::default()
            }
        );
    }
    assert_eq!(store.rule_set_parts(4).await.unwrap(), None);
}

#[tokio::test]
async fn an_instruction_that_is_a_module_has_no_script() {
    let directory = directory();
    let store = open(&directory).await;
    let upload = InstructionRecord {
        script: None,
        source: InstructionSource::Upload,
        ..instruction(1, "a", "a module by somebody")
    };
    let first = set(1, &[upload, instruction(2, "b", "x")], &[]);
    store.install(&first).await.unwrap();
    check(&store, &first).await;
    // Changes in both directions.
    let second = set(
        2,
        &[instruction(1, "a", "y"), InstructionRecord { script: None, ..instruction(2, "b", "x") }],
        &[],
    );
    store.install(&second).await.unwrap();
    store.close().await;
    check(&open(&directory).await, &second).await;
}

#[tokio::test]
async fn ids_are_never_given_twice() {
    let directory = directory();
    let store = open(&directory).await;
    store.install(&set(1, &[instruction(1, "a", "x"), instruction(41, "b", "x")], &[])).await.unwrap();
    store.install(&set(2, &[instruction(1, "a", "x")], &[])).await.unwrap();
    assert_eq!(store.last_instruction_id().await.unwrap(), 41);
}

#[tokio::test]
async fn names_may_be_swapped_and_taken_over_within_one_version() {
    let directory = directory();
    let store = open(&directory).await;
    store.install(&set(1, &[instruction(1, "a", "x"), instruction(2, "b", "y")], &[])).await.unwrap();
    let swapped = set(2, &[instruction(1, "b", "x"), instruction(2, "a", "y")], &[]);
    store.install(&swapped).await.unwrap();
    check(&store, &swapped).await;
    let taken_over = set(3, &[instruction(1, "b", "x"), instruction(3, "a", "z")], &[]);
    store.install(&taken_over).await.unwrap();
    check(&store, &taken_over).await;
}

#[tokio::test]
async fn a_version_that_contradicts_itself_or_the_past_changes_nothing() {
    let directory = directory();
    let store = open(&directory).await;
    let good = set(3, &[instruction(1, "a", "x")], &[("l", "1")]);
    store.install(&good).await.unwrap();
    let b = || instruction(2, "b", "y");
    for bad in [
        set(3, &[b()], &[]),
        set(2, &[b()], &[]),
        set(4, &[b(), b()], &[]),
        set(4, &[b(), instruction(3, "b", "z")], &[]),
        set(4, &[b()], &[("l", "2"), ("l", "3")]),
        set(u64::MAX, &[b()], &[]),
    ] {
        let error = store.install(&bad).await.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");
        check(&store, &good).await;
    }
    assert_eq!(store.last_instruction_id().await.unwrap(), 1);
}

#[tokio::test]
async fn a_change_of_one_rule_among_many_writes_one_row() {
    let directory = directory();
    let store = open(&directory).await;
    let mut instructions: Vec<_> =
        (1..=300).map(|id| instruction(id, &format!("rule_{id}"), &format!("script {id}"))).collect();
    for version in 1..=20 {
        instructions[7].module = version.to_string().into_bytes();
        store.install(&set(version, &instructions, &[("l", "same")])).await.unwrap();
    }
    check(&store, &set(20, &instructions, &[("l", "same")])).await;
    let count = |sql: &'static str| sqlx::query_scalar::<_, i64>(sql).fetch_one(&store.inner.readers);
    assert_eq!(count("SELECT count(*) FROM rule_set_members").await.unwrap(), 319);
    assert_eq!(count("SELECT count(*) FROM rule_set_lists").await.unwrap(), 1);
    assert_eq!(count("SELECT count(*) FROM modules").await.unwrap(), 319);
    // Every version can be reconstructed.
    let of_version_5 = "SELECT count(*) FROM rule_set_members \
                        WHERE since_version <= 5 AND (until_version IS NULL OR until_version > 5)";
    assert_eq!(count(of_version_5).await.unwrap(), 300);
}

#[tokio::test]
async fn zone_data_is_kept_once_under_its_digest_and_named_by_its_versions() {
    let directory = directory();
    let store = open(&directory).await;
    let zones = |name: &str, archive: &[u8]| ZoneDataRecord {
        digest: ContentDigest::of_bytes(archive),
        name: name.to_owned(),
        archive: archive.into(),
    };
    let (first, second) = (zones("2026f", b"first"), zones("2027a", b"second"));
    for (version, zones) in
        [(1, None), (2, Some(&first)), (3, Some(&first)), (4, Some(&second)), (5, Some(&first))]
    {
        let mut set = set(version, &[], &[]);
        set.zones = zones.cloned();
        store.install(&set).await.unwrap();
        check(&store, &set).await;
        let parts = store.rule_set_parts(version).await.unwrap().unwrap();
        assert_eq!(parts.zones, zones.map(|zones| zones.digest));
    }
    for zones in [first, second] {
        let kept = store.zone_data(zones.digest).await.unwrap();
        assert_eq!(kept, Some((zones.name, zones.archive.to_vec())));
    }
    assert_eq!(store.zone_data(ContentDigest::of_bytes(b"third")).await.unwrap(), None);
}
