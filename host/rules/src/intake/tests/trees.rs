//! Successive trees from one source.

use super::*;

#[tokio::test]
async fn all_differences_of_a_tree_take_effect_in_one_version() {
    let fixture = Fixture::new().await;
    let (a, b, c) = (rule("a", "amount > 1"), rule("b", "amount > 1"), rule("c", "amount > 1"));
    let first = fixture.take_directory(&[("a.ws", &a), ("x/b.ws", &b), ("lists/l.txt", "1\n")]).await;
    assert_eq!((first.version, fixture.n_versions()), (2, 1));
    assert_eq!(first.loaded, ["lists/l.txt", "a.ws", "x/b.ws"]);
    let id = fixture.id("a");
    let was = fixture.rule("a");

    let a = rule("a", "amount > 2");
    let second = fixture.take_directory(&[("a.ws", &a), ("c.ws", &c), ("lists/l.txt", "1\n2\n")]).await;
    assert_eq!((second.version, fixture.n_versions()), (3, 2));
    assert_eq!(second.loaded, ["c.ws"]);
    assert_eq!(second.changed, ["lists/l.txt", "a.ws"]);
    assert_eq!(second.removed, ["x/b.ws"]);
    assert_eq!(fixture.names(), ["a", "c"]);
    assert_eq!(fixture.id("a"), id, "a changed script keeps its id");
    let (was, is) = (&was.instruction.record, &fixture.rule("a").instruction.record);
    assert_eq!(was.created_at, is.created_at);
    assert!(is.updated_at > was.updated_at);
    assert_eq!(fixture.store.instructions().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_tree_that_says_nothing_new_makes_no_version() {
    let fixture = Fixture::new().await;
    let files = [("a.ws", rule("a", "amount > 1")), ("b.ws", rule("b", "currency in $l"))];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    fixture.take_directory(&files).await;
    let before = fixture.registry.current();
    let report = fixture.take_directory(&files).await;
    assert!(!report.is_change(), "{report:?}");
    assert_eq!((report.version, report.n_unchanged), (2, 2));
    assert!(Arc::ptr_eq(&before, &fixture.registry.current()));
}

#[tokio::test]
async fn a_rule_that_did_not_change_is_kept() {
    let fixture = Fixture::new().await;
    let a = rule("a", "amount > 1");
    fixture.take_directory(&[("a.ws", &a)]).await;
    let was = fixture.rule("a");
    fixture.take_directory(&[("a.ws", &a), ("b.ws", &rule("b", "amount > 1"))]).await;
    assert!(Arc::ptr_eq(&was, &fixture.rule("a")));
}

#[tokio::test]
async fn a_file_that_breaks_keeps_its_last_good_version_and_is_reported() {
    let fixture = Fixture::new().await;
    let (a, b) = (rule("a", "amount > 1"), rule("b", "amount > 1"));
    fixture.take_directory(&[("a.ws", &a), ("b.ws", &b), ("lists/l.txt", "1")]).await;
    let b = rule("b", "amount > 2");
    let report = fixture
        .take_directory(&[
            ("a.ws", "rule a {\n  when amount > 1\n  then maybe\n}"),
            ("b.ws", &b),
            ("c.ws", "rule"),
            ("d.ws", "!"),
            ("lists/l.txt", "!"),
        ])
        .await;
    assert_eq!(report.changed, ["b.ws"]);
    assert_eq!(fixture.in_force(), [("a".to_owned(), 1, a.clone()), ("b".to_owned(), 2, b.clone())]);
    assert_eq!(fixture.registry.current().lists.names().collect::<Vec<_>>(), ["l"]);
    let failed: Vec<_> = report
        .failed
        .iter()
        .map(|failed| (failed.path.as_str(), failed.line, failed.column, failed.has_last_good))
        .collect();
    let expected = [
        ("lists/l.txt", None, None, true),
        ("a.ws", Some(3), Some(8), true),
        ("c.ws", Some(1), Some(5), false),
        ("d.ws", None, None, false),
    ];
    assert_eq!(failed, expected);
    assert_eq!(fixture.intake.n_refused_files(), 4);
    let listed = fixture.intake.instruction(InstructionId(1)).unwrap();
    assert_eq!(listed.refused_change.unwrap().line, Some(3), "the instruction shows it");

    let cured = fixture.take_directory(&[("a.ws", &a), ("b.ws", &b), ("lists/l.txt", "1")]).await;
    assert!(!cured.is_change() && cured.failed.is_empty(), "{cured:?}");
    assert_eq!(fixture.intake.n_refused_files(), 0);
}

#[tokio::test]
async fn a_file_that_is_being_written_stays_as_it_was_without_a_word() {
    let fixture = Fixture::new().await;
    fixture.take_directory(&[("a.ws", &rule("a", "amount > 1")), ("lists/l.txt", "1")]).await;
    let report = fixture.take_directory(&[("a.ws", "…"), ("b.ws", "…"), ("lists/l.txt", "…")]).await;
    assert!(!report.is_change() && report.failed.is_empty(), "{report:?}");
    assert_eq!(fixture.names(), ["a"]);
}

#[tokio::test]
async fn a_file_that_lies_there_as_it_was_taken_need_not_be_read() {
    let fixture = Fixture::new().await;
    let (a, b, c) = (rule("a", "amount > 1"), rule("b", "amount > 1"), rule("c", "amount > 1"));
    fixture.take_directory(&[("a.ws", &a), ("b.ws", &b), ("c.ws", &c), ("lists/l.txt", "1")]).await;
    fixture.intake.remove(InstructionId(3), Precondition::None).await.unwrap();
    let was = fixture.rule("a");
    let b = rule("b", "amount > 2");
    let files = [("a.ws", "="), ("b.ws", &b), ("c.ws", "="), ("d.ws", "="), ("lists/l.txt", "=")];
    let report = fixture.take_directory(&files).await;
    assert_eq!((report.changed.as_slice(), report.n_unchanged), (["b.ws".to_owned()].as_slice(), 2));
    assert!(report.failed.is_empty() && report.removed.is_empty(), "{report:?}");
    assert!(Arc::ptr_eq(&was, &fixture.rule("a")));
    assert_eq!(fixture.names(), ["a", "b"], "what was removed over the API stays away");
    let again =
        fixture.take_directory(&[("a.ws", "="), ("b.ws", "="), ("c.ws", &c), ("lists/l.txt", "=")]).await;
    assert!(!again.is_change(), "its digest is still known: {again:?}");
}

#[tokio::test]
async fn a_renamed_file_keeps_its_instruction() {
    let fixture = Fixture::new().await;
    let (a, b) = (rule("a", "amount > 1"), rule("b", "amount > 1"));
    fixture.take_directory(&[("a.ws", &a), ("b.ws", &b)]).await;
    let was = fixture.rule("a");
    let report = fixture.take_directory(&[("b.ws", &b), ("c.ws", &a)]).await;
    assert_eq!((report.changed.as_slice(), report.removed.len()), (["c.ws".to_owned()].as_slice(), 0));
    let is = fixture.rule("a");
    let (was, is) = (&was.instruction.record, &is.instruction.record);
    assert_eq!((is.id, is.updated_at), (was.id, was.updated_at));
    assert_eq!(is.source.path(), Some("c.ws"));
    // Two files that swap their contents are two renamed files.
    let swapped = fixture.take_directory(&[("b.ws", &a), ("c.ws", &b)]).await;
    assert_eq!(swapped.changed, ["b.ws", "c.ws"]);
    assert_eq!((fixture.id("a"), fixture.id("b")), (1, 2));
}

#[tokio::test]
async fn a_file_keeps_its_name_when_a_second_file_claims_it() {
    let fixture = Fixture::new().await;
    let (one, other) = (rule("same", "amount > 1"), rule("same", "amount > 2"));
    fixture.take_directory(&[("b.ws", &one)]).await;
    let report = fixture.take_directory(&[("a.ws", &other), ("b.ws", &one)]).await;
    assert_eq!(report.failed.len(), 1);
    assert_eq!(report.failed[0].path, "a.ws");
    assert!(report.failed[0].message.contains("the file `b.ws`"), "{:?}", report.failed);
    // Also if it changes at the same time.
    let changed = rule("same", "amount > 3");
    fixture.take_directory(&[("a.ws", &other), ("b.ws", &changed)]).await;
    assert_eq!(fixture.in_force(), [("same".to_owned(), 1, changed)]);
    // Once the file is gone, the other takes over the instruction.
    fixture.take_directory(&[("a.ws", &other)]).await;
    assert_eq!(fixture.in_force(), [("same".to_owned(), 1, other)]);
}

#[tokio::test]
async fn a_rule_renamed_in_its_file_is_another_instruction() {
    let fixture = Fixture::new().await;
    fixture.take_directory(&[("a.ws", &rule("old", "amount > 1"))]).await;
    let report = fixture.take_directory(&[("a.ws", &rule("new", "amount > 1"))]).await;
    assert_eq!((report.changed.as_slice(), report.removed.len()), (["a.ws".to_owned()].as_slice(), 0));
    assert_eq!((fixture.names(), fixture.id("new")), (vec!["new".to_owned()], 2));
}

#[tokio::test]
async fn a_rule_removed_over_the_api_stays_away_until_its_file_changes() {
    let fixture = Fixture::new().await;
    let (a, b) = (rule("a", "amount > 1"), rule("b", "amount > 1"));
    fixture.take_directory(&[("a.ws", &a), ("b.ws", &b)]).await;
    fixture.intake.remove(InstructionId(1), Precondition::None).await.unwrap();
    fixture.take_directory(&[("a.ws", &a), ("b.ws", &rule("b", "amount > 2"))]).await;
    assert_eq!(fixture.names(), ["b"]);
    fixture.take_directory(&[("a.ws", &rule("a", "amount > 3")), ("b.ws", &b)]).await;
    assert_eq!((fixture.names(), fixture.id("a")), (vec!["a".to_owned(), "b".to_owned()], 3));
}

#[tokio::test]
async fn many_files_are_compiled_side_by_side_and_stay_in_order() {
    let fixture = Fixture::new().await;
    let files: Vec<(String, String)> = (0..100)
        .map(|number| (format!("{number:03}.ws"), rule(&format!("r{number:03}"), "amount > 1")))
        .collect();
    let mut files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files[57].1 = "rule r057 { when amount > then review }";
    let report = fixture.take_directory(&files).await;
    assert_eq!((fixture.n_versions(), report.loaded.len(), report.failed.len()), (1, 99, 1));
    assert_eq!(report.failed[0].path, "057.ws");
    assert_eq!((fixture.id("r000"), fixture.id("r056"), fixture.id("r058")), (1, 57, 58));
}

#[tokio::test]
async fn a_change_that_cannot_be_stored_changes_nothing() {
    let fixture = Fixture::new().await;
    fixture.take_directory(&[("a.ws", &rule("a", "amount > 1"))]).await;
    fixture.store.clone().close().await;
    let refused = fixture.intake.take_tree(tree(TreeOrigin::Directory, &[])).await;
    assert!(matches!(refused, Err(IntakeError::Unavailable)), "{refused:?}");
    assert_eq!((fixture.names(), fixture.n_versions()), (vec!["a".to_owned()], 1));
}

#[tokio::test]
async fn the_change_between_two_rule_sets_leads_from_one_to_the_other() {
    let fixture = Fixture::new().await;
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| rule(name, "amount > 1"));
    fixture.take_directory(&[("a.ws", &a), ("b.ws", &b), ("c.ws", &c)]).await;
    let before = fixture.registry.current();
    fixture.take_directory(&[("b.ws", &rule("b", "amount > 2")), ("c.ws", &c), ("d.ws", &d)]).await;
    let after = fixture.registry.current();

    let rules: Vec<_> = change::rules_of(&after).cloned().collect();
    let change = change::RuleChange::between(&before, rules.clone(), after.lists.clone());
    let ids = |rules: &[Arc<tollgate_engine::registry::BoundRule>]| -> Vec<i64> {
        rules.iter().map(|rule| rule.instruction.record.id.0).collect()
    };
    assert_eq!((ids(&change.add), ids(&change.replace)), (vec![4], vec![2]));
    assert_eq!(change.remove, [InstructionId(1)]);
    let reached = change.rules_after(&before);
    assert_eq!(ids(&reached), ids(&rules));
    assert!(reached.iter().zip(&rules).all(|(one, other)| Arc::ptr_eq(one, other)));
}
