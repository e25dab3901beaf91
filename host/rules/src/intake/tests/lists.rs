//! Named lists over the API, beside those from files.

use tollgate_model::instruction::InstructionSource;

use super::*;

#[tokio::test]
async fn a_list_is_set_replaced_and_removed_in_one_version_each() {
    let fixture = Fixture::new().await;
    let entries = |texts: &[&str]| texts.iter().map(|text| (*text).into()).collect();
    let first =
        fixture.intake.set_list_entries("l", entries(&["b", "a", "b"]), Precondition::None).await.unwrap();
    assert!(first.is_new);
    assert_eq!((first.list.members.len(), fixture.n_versions()), (2, 1));
    assert!(!fixture.intake.set_list("l", "b\na\n".to_owned(), Precondition::None).await.unwrap().is_new);
    assert_eq!(fixture.n_versions(), 1, "the same list again is no change");
    assert!(!fixture.intake.set_list("l", "c # why\n".to_owned(), Precondition::None).await.unwrap().is_new);
    assert_eq!(fixture.intake.lists().get("l").unwrap().entries().collect::<Vec<_>>(), ["c"]);
    fixture.intake.remove_list("l", Precondition::None).await.unwrap();
    assert_eq!(fixture.n_versions(), 3);
    let gone = fixture.intake.remove_list("l", Precondition::None).await;
    assert!(matches!(gone, Err(IntakeError::ListNotFound(_))), "{gone:?}");
}

#[tokio::test]
async fn the_first_keeps_a_lists_name() {
    let fixture = Fixture::new().await;
    fixture.take_directory(&[("lists/file.txt", "1")]).await;
    fixture.intake.set_list("api", "1".to_owned(), Precondition::None).await.unwrap();
    for refused in [
        fixture.intake.set_list("file", "2".to_owned(), Precondition::None).await.map(drop),
        fixture.intake.remove_list("file", Precondition::None).await,
    ] {
        assert!(matches!(refused, Err(IntakeError::ListTaken { .. })), "{refused:?}");
    }
    let report = fixture.take_directory(&[("lists/file.txt", "1"), ("lists/api.txt", "2")]).await;
    assert_eq!((report.is_change(), report.failed.len()), (false, 1));
    assert!(report.failed[0].message.contains("from the API"), "{:?}", report.failed);
    assert_eq!(fixture.intake.lists().get("api").unwrap().source, InstructionSource::Api);
}

#[tokio::test]
async fn warnings_follow_the_lists_there_are() {
    let fixture = Fixture::new().await;
    fixture.intake.save(&rule("a", "currency in $later")).await.unwrap();
    let n_warnings = || fixture.rule("a").instruction.warnings.len();
    assert_eq!(n_warnings(), 1);
    let digest = fixture.rule("a").instruction.digest;
    fixture.intake.set_list("later", "EUR".to_owned(), Precondition::None).await.unwrap();
    assert_eq!(n_warnings(), 0);
    fixture.intake.remove_list("later", Precondition::None).await.unwrap();
    assert_eq!(n_warnings(), 1);
    fixture.take_directory(&[("lists/later.txt", "EUR")]).await;
    assert_eq!(n_warnings(), 0);
    assert_eq!(fixture.rule("a").instruction.digest, digest);
}

#[tokio::test]
async fn lists_have_room_up_to_a_limit() {
    let fixture = Fixture::new().await;
    let too_long = "x".repeat(usize::try_from(tollgate_model::named_list::LIST_BYTES_MAX).unwrap() + 1);
    let refused = fixture.intake.set_list("l", too_long, Precondition::None).await;
    assert!(matches!(refused, Err(IntakeError::InvalidList(_))), "{refused:?}");
    let mut lists = Lists::default();
    for number in 0..LISTS_MAX {
        lists.insert(
            &format!("l{number}"),
            tollgate_engine::registry::ListInForce::new("1", InstructionSource::Api),
        );
    }
    assert!(lists.has_room_for("l0", 100));
    assert!(!lists.has_room_for("new", 1));
    let all = usize::try_from(tollgate_engine::registry::ALL_LISTS_BYTES_MAX).unwrap();
    assert!(!lists.has_room_for("l0", all));
}
