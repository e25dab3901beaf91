//! Modules from other compilers, from every source.

use serde_json::json;
use tollgate_engine::sandbox::with_manifest;
use tollgate_guest_abi::limits::{FUEL_PER_RUN, HOST_CALLS_MAX};

use super::*;

/// A module without a manifest that matches amounts above a limit.
fn bare(limit: u32) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(module
          (import "tollgate" "number" (func $number (param i32) (result f64)))
          (func (export "evaluate") (result i64)
            (i64.extend_i32_u (f64.gt (call $number (i32.const 0)) (f64.const {limit})))))"#
    ))
    .unwrap()
}

fn manifest(names: &[&str]) -> Manifest {
    let entry = |name: &&str| json!({ "name": name, "verdict": "review", "score": 0.5, "reason": "above" });
    let rules: Vec<_> = names.iter().map(entry).collect();
    let needs = json!({
        "fields": ["amount"],
        "aggregates": [{
            "function": "count", "value": "amount", "window": "PT1H",
            "filter": { "compare": { "left": { "field": "source" }, "operator": "==", "right": { "current": "source" } } },
        }],
    });
    let cost = json!({ "instructions": 1, "host_calls": 1, "history_lookups": 0 });
    serde_json::from_value(json!({ "abi_version": 1, "rules": rules, "needs": needs, "cost": cost })).unwrap()
}

fn module(name: &str, limit: u32) -> Vec<u8> {
    with_manifest(&bare(limit), &manifest(&[name]))
}

fn of_modules(origin: TreeOrigin, files: &[(&str, &[u8])]) -> RuleTree {
    let rules = files.iter().map(|(path, module)| RuleFile {
        path: (*path).to_owned(),
        content: Ok(RuleContent::Module(module.to_vec())),
    });
    RuleTree { origin, rules: rules.collect(), lists: Vec::new(), unreadable: Vec::new(), ignored: None }
}

#[track_caller]
fn check_refused(outcome: Result<ListedInstruction, IntakeError>, words: &str) {
    let Err(IntakeError::ModuleRefused(refusal)) = outcome else { panic!("{outcome:?}") };
    assert!(refusal.to_string().contains(words), "{refusal}");
}

#[tokio::test]
async fn an_upload_is_in_force_and_its_worst_case_is_what_it_is_granted() {
    let fixture = Fixture::new().await;
    let bytes = module("above", 100);
    let instruction = fixture.intake.upload(bytes.clone(), None).await.unwrap().instruction;
    assert_eq!((&instruction.record.script, &instruction.record.source), (&None, &InstructionSource::Upload));
    assert_eq!((&instruction.record.module, &instruction.checked), (&bytes, &None));
    let cost = instruction.cost;
    assert_eq!(u64::from(cost.instructions), FUEL_PER_RUN);
    assert_eq!((cost.host_calls, cost.history_lookups), (HOST_CALLS_MAX, 1));
    let before = (*fixture.rule("above").instruction).clone();
    let fixture = fixture.again().await;
    assert_eq!(*fixture.rule("above").instruction, before, "after a restart");
    assert_eq!(fixture.n_versions(), 1);
}

#[tokio::test]
async fn a_manifest_beside_a_module_becomes_part_of_it() {
    let fixture = Fixture::new().await;
    let manifest = manifest(&["beside"]);
    let instruction = fixture.intake.upload(bare(7), Some(manifest.clone())).await.unwrap().instruction;
    let whole = with_manifest(&bare(7), &manifest);
    assert_eq!(instruction.record.module, whole);
    assert_eq!(instruction.digest, ContentDigest::of_bytes(&whole));
    check_refused(fixture.intake.upload(whole, Some(manifest)).await, "already has a manifest");
}

#[tokio::test]
async fn a_module_without_one_rule_of_a_plain_name_is_refused() {
    let fixture = Fixture::new().await;
    check_refused(fixture.intake.upload(bare(1), None).await, "manifest");
    for (names, words) in [
        (&["a", "b"][..], "one rule, this one has 2"),
        (&["../a"], "letters, digits"),
        (&[""], "letters, digits"),
        (&["1a"], "letters, digits"),
        (&["a b"], "letters, digits"),
    ] {
        check_refused(fixture.intake.upload(bare(1), Some(manifest(names))).await, words);
    }
    assert_eq!(fixture.n_versions(), 0);
}

#[tokio::test]
async fn scripts_and_modules_share_their_names() {
    let fixture = Fixture::new().await;
    fixture.intake.save(&rule("script", "amount > 1")).await.unwrap();
    fixture.intake.upload(module("module", 1), None).await.unwrap();
    let taken = fixture.intake.upload(module("script", 1), None).await;
    assert!(matches!(taken, Err(IntakeError::NameTaken { .. })), "{taken:?}");
    let taken = fixture.intake.save(&rule("module", "amount > 1")).await;
    assert!(matches!(taken, Err(IntakeError::NameTaken { .. })), "{taken:?}");
    let id = InstructionId(fixture.id("module"));
    fixture.intake.remove(id, Precondition::None).await.unwrap();
    fixture.intake.save(&rule("module", "amount > 1")).await.unwrap();
}

#[tokio::test]
async fn a_module_in_a_tree_lives_as_a_script_does() {
    let fixture = Fixture::new().await;
    let take = async |files: &[(&str, &[u8])]| {
        fixture.intake.take_tree(of_modules(TreeOrigin::Directory, files)).await.unwrap()
    };
    let (one, other) = (module("a", 1), module("a", 2));
    assert_eq!(take(&[("a.wasm", &one)]).await.loaded, ["a.wasm"]);
    let id = fixture.id("a");
    let source = fixture.rule("a").instruction.record.source.clone();
    assert_eq!(source, InstructionSource::File { path: "a.wasm".to_owned() });
    assert_eq!(take(&[("a.wasm", &one)]).await.n_unchanged, 1);
    assert_eq!(take(&[("a.wasm", &other)]).await.changed, ["a.wasm"]);
    assert_eq!(take(&[("moved.wasm", &other)]).await.changed, ["moved.wasm"]);
    assert_eq!((fixture.id("a"), fixture.rule("a").instruction.record.module.clone()), (id, other.clone()));
    // A refused file keeps its last good version, and the other file takes effect.
    let report = take(&[("moved.wasm", &bare(1)), ("b.wasm", &module("b", 1)), ("c.wasm", b"\0asm")]).await;
    assert_eq!(report.loaded, ["b.wasm"]);
    let failed: Vec<_> =
        report.failed.iter().map(|file| (&*file.path, file.line, file.column, file.has_last_good)).collect();
    assert_eq!(failed, [("moved.wasm", None, None, true), ("c.wasm", None, None, false)]);
    let is_reported =
        |message: &str| message.starts_with("the module is refused: ") && !message.contains('\n');
    assert!(report.failed.iter().all(|file| is_reported(&file.message)), "{:?}", report.failed);
    assert_eq!(fixture.rule("a").instruction.record.module, other);
    // A removed rule stays away until its file changes.
    fixture.intake.remove(InstructionId(id), Precondition::None).await.unwrap();
    take(&[("moved.wasm", &other), ("b.wasm", &module("b", 1))]).await;
    assert_eq!(fixture.names(), ["b"]);
    take(&[("moved.wasm", &one), ("b.wasm", &module("b", 1))]).await;
    assert_eq!(fixture.names(), ["a", "b"]);
    assert_eq!(take(&[]).await.removed.len(), 2);
    assert_eq!(fixture.names(), [""; 0]);
}

#[tokio::test]
async fn an_upload_that_comes_back_from_the_repository_is_the_repositorys() {
    let fixture = Fixture::new().await;
    let bytes = module("a", 1);
    let id = fixture.intake.upload(bytes.clone(), None).await.unwrap().instruction.record.id;
    let report = fixture.intake.take_tree(of_modules(git("c1"), &[("a.wasm", &bytes)])).await.unwrap();
    assert_eq!((report.failed, fixture.id("a")), (Vec::new(), id.0));
    assert_eq!(fixture.rule("a").instruction.record.source.path(), Some("a.wasm"));
    // A different module with the same name is not adopted.
    fixture.intake.upload(module("b", 1), None).await.unwrap();
    let files: [(&str, &[u8]); 2] = [("a.wasm", &bytes), ("b.wasm", &module("b", 2))];
    let report = fixture.intake.take_tree(of_modules(git("c2"), &files)).await.unwrap();
    assert!(report.failed[0].message.contains("exists already, from an upload"), "{:?}", report.failed);
}

#[tokio::test]
async fn a_stored_module_that_is_not_let_in_any_more_is_held_until_somebody_acts() {
    let starts = wat::parse_str(
        r#"(module (func $f) (func (export "evaluate") (result i64) (i64.const 0)) (start $f))"#,
    );
    let starts = with_manifest(&starts.unwrap(), &manifest(&["a"]));
    let no_rule = "the script of an older version";
    for (script, bytes) in [(None, starts), (None, b"\0asm".to_vec()), (Some(no_rule), bare(1))] {
        let fixture = Fixture::new().await;
        fixture.intake.upload(module("a", 1), None).await.unwrap();
        fixture.intake.upload(module("b", 1), None).await.unwrap();
        fixture.pass_off("a", script, bytes.clone()).await;
        let fixture = fixture.again().await;
        let held = fixture.rule("a").instruction.record.clone();
        let quarantine = held.quarantine.clone().unwrap();
        assert_eq!((quarantine.cause, &held.module), (QuarantineCause::Module, &bytes), "{quarantine:?}");
        assert_eq!(
            (held.script.as_deref(), fixture.rule("b").instruction.record.quarantine.clone()),
            (script, None)
        );
        let released = fixture.intake.release(held.id).await;
        assert!(matches!(released, Err(IntakeError::ModuleRefused(_))), "{released:?}");
        assert!(released.unwrap_err().to_string().contains(&quarantine.reason));
        // A restart produces the same state.
        let n_versions = fixture.n_versions();
        let fixture = fixture.again().await;
        assert_eq!((&fixture.rule("a").instruction.record, fixture.n_versions()), (&held, n_versions));
        // Once it can be admitted, it runs again.
        fixture.pass_off("a", None, module("a", 2)).await;
        let fixture = fixture.again().await;
        assert_eq!(fixture.rule("a").instruction.record.quarantine, None);
    }
}
