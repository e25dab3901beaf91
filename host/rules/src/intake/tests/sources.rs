//! Several sources beside each other.

use tollgate_model::instruction::InstructionSource;

use super::*;

#[tokio::test]
async fn a_source_never_changes_the_rules_and_lists_of_another() {
    let fixture = Fixture::new().await;
    fixture.intake.save(&rule("api", "amount > 1")).await.unwrap();
    fixture.take_directory(&[("f.ws", &rule("file", "amount > 1")), ("lists/l.txt", "1")]).await;
    fixture.take(git("c1"), &[("g.ws", &rule("git", "amount > 1")), ("lists/g.txt", "1")]).await;
    assert_eq!(fixture.names(), ["api", "file", "git"]);
    fixture.take(git("c2"), &[]).await;
    assert_eq!(fixture.names(), ["api", "file"]);
    assert_eq!(fixture.registry.current().lists.names().collect::<Vec<_>>(), ["l"]);
    fixture.take_directory(&[]).await;
    assert_eq!(fixture.names(), ["api"]);
}

#[tokio::test]
async fn a_version_names_the_commit_and_an_instruction_the_one_that_changed_it() {
    let fixture = Fixture::new().await;
    let (a, b) = (rule("a", "amount > 1"), rule("b", "amount > 1"));
    fixture.take(git("c1"), &[("a.ws", &a), ("b.ws", &b)]).await;
    let b = rule("b", "amount > 2");
    let report = fixture.take(git("c2"), &[("a.ws", &a), ("b.ws", &b)]).await;
    assert_eq!((fixture.n_versions(), report.n_unchanged), (2, 1));
    assert_eq!(fixture.registry.current().commit.as_deref(), Some("c2"));
    let source = |name: &str| fixture.rule(name).instruction.record.source.clone();
    let of = |path: &str, commit: &str| InstructionSource::Git { path: path.into(), commit: commit.into() };
    assert_eq!((source("a"), source("b")), (of("a.ws", "c1"), of("b.ws", "c2")));
    // Other changes keep the commit.
    fixture.intake.save(&rule("api", "amount > 1")).await.unwrap();
    assert_eq!(fixture.registry.current().commit.as_deref(), Some("c2"));
    let stored = fixture.store.last_rule_set().await.unwrap().unwrap();
    assert_eq!((stored.version, stored.commit.as_deref()), (4, Some("c2")));
}

#[tokio::test]
async fn the_last_good_set_of_every_source_serves_after_a_restart() {
    let fixture = Fixture::new().await;
    fixture.intake.save(&rule("api", "amount > 1")).await.unwrap();
    fixture.intake.set_list("of_api", "1".to_owned(), Precondition::None).await.unwrap();
    fixture.take(git("c1"), &[("g.ws", &rule("git", "amount > 1")), ("lists/of_git.txt", "1")]).await;
    let (before, version) = (fixture.in_force(), fixture.n_versions());
    let fixture = fixture.again().await;
    assert_eq!(
        (fixture.in_force(), fixture.n_versions()),
        (before, version),
        "the same set is the same version"
    );
    let rule_set = fixture.registry.current();
    assert_eq!(rule_set.commit.as_deref(), Some("c1"));
    assert_eq!(rule_set.lists.names().collect::<Vec<_>>(), ["of_api", "of_git"]);
    let report =
        fixture.take(git("c1"), &[("g.ws", &rule("git", "amount > 1")), ("lists/of_git.txt", "1")]).await;
    assert!(!report.is_change(), "{report:?}");
}

#[tokio::test]
async fn the_first_of_two_sources_with_one_name_keeps_it() {
    let fixture = Fixture::new().await;
    fixture.intake.save(&rule("api", "amount > 1")).await.unwrap();
    fixture.take(git("c1"), &[("g.ws", &rule("git", "amount > 1"))]).await;
    let report = fixture
        .take_directory(&[("a.ws", &rule("api", "amount > 2")), ("g.ws", &rule("git", "amount > 2"))])
        .await;
    assert!(!report.is_change());
    let messages: Vec<&str> = report.failed.iter().map(|failed| failed.message.as_str()).collect();
    assert!(messages[0].contains("from the API"), "{messages:?}");
    assert!(messages[1].contains("from the file `g.ws` of the Git repository"), "{messages:?}");
    let taken = fixture.intake.save(&rule("git", "amount > 3")).await;
    assert!(matches!(taken, Err(IntakeError::NameTaken { .. })), "{taken:?}");
}

#[tokio::test]
async fn a_saved_and_pushed_rule_belongs_to_the_repository() {
    let fixture = Fixture::new().await;
    let script = rule("shared", "amount > 1");
    let saved = fixture.intake.save(&script).await.unwrap();
    fixture.intake.set_list("l", "1\n".to_owned(), Precondition::None).await.unwrap();
    // A trailing line break does not make another script.
    let in_tree = format!("{script}\n");
    let report = fixture.take(git("c1"), &[("shared.ws", &in_tree), ("lists/l.txt", "1")]).await;
    assert_eq!((report.changed.len(), report.failed.len()), (2, 0), "{report:?}");
    let now = fixture.rule("shared");
    let now = &now.instruction.record;
    assert_eq!((now.id, now.created_at), (saved.instruction.record.id, saved.instruction.record.created_at));
    assert_eq!(now.source.path(), Some("shared.ws"));
    // From here on, it changes and disappears with its file.
    fixture.take(git("c2"), &[("shared.ws", &rule("shared", "amount > 2"))]).await;
    assert_eq!(fixture.id("shared"), saved.instruction.record.id.0);
    fixture.take(git("c3"), &[]).await;
    assert_eq!(fixture.names(), [""; 0]);
}

#[derive(Debug, Default)]
struct Ears(parking_lot::Mutex<Vec<String>>);

impl ScriptSink for Ears {
    fn saved(&self, instruction: &tollgate_model::instruction::InstructionRecord) {
        self.0.lock().push(format!("saved {}", instruction.name));
    }

    fn removed(&self, instruction: &tollgate_model::instruction::InstructionRecord) {
        self.0.lock().push(format!("removed {}", instruction.name));
    }

    fn list_saved(&self, list: &ListRecord) {
        self.0.lock().push(format!("list {} = {}", list.name, list.entries));
    }

    fn list_removed(&self, name: &str) {
        self.0.lock().push(format!("list {name} removed"));
    }
}

#[tokio::test]
async fn the_sink_hears_what_is_changed_over_the_api_and_that_alone() {
    let ears = Arc::new(Ears::default());
    let fixture = Fixture::with_sink(Arc::clone(&ears) as Arc<dyn ScriptSink>).await;
    let saved = fixture.intake.save(&rule("a", "amount > 1")).await.unwrap();
    assert!(fixture.intake.save("rule").await.is_err());
    fixture.intake.set_list("l", "1".to_owned(), Precondition::None).await.unwrap();
    fixture.take_directory(&[("f.ws", &rule("file", "amount > 1"))]).await;
    fixture.intake.remove_list("l", Precondition::None).await.unwrap();
    fixture.intake.remove(saved.instruction.record.id, Precondition::None).await.unwrap();
    assert_eq!(*ears.0.lock(), ["saved a", "list l = 1", "list l removed", "removed a"]);
}
