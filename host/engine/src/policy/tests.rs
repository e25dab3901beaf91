//! Tests of policy files and their checks.

use std::io::Write as _;
use tollgate_model::instruction::Grant;

use tempfile::NamedTempFile;
use tollgate_compiler::emit::emit;
use tollgate_compiler::{CompileOptions, compile};
use tollgate_guest_abi::Manifest;

use super::*;

fn policy(text: &str) -> Result<Policy, PolicyError> {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    Policy::read(file.path())
}

fn manifest(when: &str, then: &str) -> Manifest {
    let script = format!("rule r {{ when {when} then {then} }}");
    let compiled = compile(&script, &CompileOptions::default());
    emit(&[compiled.rule.expect("a rule")]).unwrap().manifest
}

const UPLOADS: &str = r#"{ "grants": [
    { "source": "git", "path": "trusted/" },
    { "source": "upload",
      "fields": ["amount", "source", "metadata.card.*", "metadata.device-id"], "lists": ["blocked"], "history": ["count"],
      "longest_window": "P1D", "history_lookups": 1, "severest_verdict": "review",
      "fuel": 5000, "host_calls": 8, "memory_pages": 2 },
    { "source": "git", "fields": ["amount"] }
] }"#;

#[track_caller]
fn check(when: &str, then: &str, missing: &[&str]) {
    let granted = policy(UPLOADS).unwrap().grant_for(&InstructionSource::Upload).unwrap();
    let denied = granted.check(&manifest(when, then)).err().map(|denial| denial.missing);
    let expected = (!missing.is_empty()).then(|| missing.iter().map(ToString::to_string).collect());
    assert_eq!(denied, expected, "{when}");
}

#[test]
fn a_rule_may_use_what_it_is_granted() {
    check("amount > 10", "review", &[]);
    check("metadata.card.country == \"DE\" and source in $blocked", "alert", &[]);
    check("metadata.card.\"issuer-id\" == 1 and metadata.\"device-id\" == 2", "alert", &[]);
    check("count(when source == $current.source, \"PT24H\") > 3", "review", &[]);
}

#[test]
fn all_that_is_missing_is_named() {
    check("currency == \"EUR\"", "review", &["the field `currency`"]);
    check("metadata.cards.x == 1", "review", &["the field `metadata.cards.x`"]);
    check("metadata.\"card.number\" == 1", "review", &[r#"the field `metadata.\"card.number\"`"#]);
    check("source in $friends", "review", &["the list `friends`"]);
    check("amount > 10", "block", &["the verdict `block` (`review` at most)"]);
    check(
        "sum(when destination == $current.destination, \"P2D\") > 3",
        "deny",
        &[
            "the field `destination`",
            "the history function `sum`",
            "a window of P2D (P1D at most)",
            "the verdict `deny` (`review` at most)",
        ],
    );
    check(
        "previous_transaction(within: \"PT1H\", match: { source: \"$current.source\", status: \"failed\" })",
        "review",
        &["the field `status`", "the history function `previous_transaction`"],
    );
    let two = "count(when source == $current.source, \"PT1H\") > 3 or count(when source == $current.source, \"PT2H\") > 3";
    check(two, "review", &["2 look-ups of history (1 at most)"]);
}

#[test]
fn the_first_grant_for_a_source_decides_and_none_grants_nothing() {
    let policy = policy(UPLOADS).unwrap();
    let git = |path: &str| InstructionSource::Git { path: path.into(), commit: "c".into() };
    let rule = manifest("currency == \"EUR\"", "block");
    assert_eq!(policy.grant_for(&git("trusted/a.ws")).unwrap().check(&rule), Ok(()));
    assert!(policy.grant_for(&git("others/a.ws")).unwrap().check(&rule).is_err());
    let denial = policy.grant_for(&InstructionSource::Api).unwrap_err().to_string();
    assert_eq!(denial, "the rule policy does not grant any rule from the API");
    let budget = policy.grant_for(&InstructionSource::Upload).unwrap().budget();
    assert_eq!(budget, Grant { fuel: 5_000, host_calls: 8, memory_bytes: 128 * 1024 });
}

#[test]
fn without_a_policy_everything_is_granted() {
    let granted = Policy::default().grant_for(&InstructionSource::Api).unwrap();
    assert_eq!(granted.check(&manifest("currency == \"EUR\"", "block")), Ok(()));
    assert_eq!(granted.budget(), Grant::default());
}

#[test]
fn a_grant_may_bound_how_many_rules_there_are() {
    let policy = policy(
        r#"{ "grants": [{ "source": "upload", "rules": 2 }, { "source": "git", "path": "a/", "rules": 1 }, { "source": "git" }] }"#,
    )
    .unwrap();
    let git = |path: &str| InstructionSource::Git { path: path.to_owned(), commit: "c".to_owned() };
    let (upload, api) = (InstructionSource::Upload, InstructionSource::Api);
    let in_force = [upload.clone(), git("a/x.ws"), git("b/x.ws"), api.clone()];
    for (source, others, is_granted) in [
        (&upload, &in_force[..], true),
        (&upload, &[upload.clone(), upload.clone()][..], false),
        (&git("a/y.ws"), &in_force[..], false),
        (&git("b/y.ws"), &in_force[..], true),
        (&api, &in_force[..], true),
    ] {
        let counted = policy.check_count(source, others.iter());
        assert_eq!(counted.is_ok(), is_granted, "{source}: {counted:?}");
    }
}

#[track_caller]
fn check_changes(text: &str, granted: &[&str]) {
    let policy = if text.is_empty() { Policy::default() } else { policy(text).unwrap() };
    let git = InstructionSource::Git { path: "a.ws".into(), commit: "c".into() };
    let file = InstructionSource::File { path: "a.ws".into() };
    let all = [
        ("api", policy.check_change(&InstructionSource::Api)),
        ("upload", policy.check_change(&InstructionSource::Upload)),
        ("git", policy.check_change(&git)),
        ("repository", policy.check_change_of_repository()),
        ("file", policy.check_change(&file)),
        ("list a", policy.check_set_list("a")),
        ("list team.x", policy.check_set_list("team.x")),
        ("push", policy.check_push()),
    ];
    let allowed: Vec<&str> =
        all.iter().filter(|(_, checked)| checked.is_ok()).map(|(what, _)| *what).collect();
    assert_eq!(allowed, granted, "{text}");
}

#[test]
fn a_policy_lets_the_api_change_what_came_over_it_and_what_its_grant_says() {
    let all = ["api", "upload", "git", "repository", "file", "list a", "list team.x", "push"];
    check_changes("", &all);
    check_changes(r#"{ "grants": [] }"#, &["api", "upload"]);
    check_changes(r#"{ "grants": [{ "source": "api" }, { "source": "git" }] }"#, &["api", "upload"]);
    check_changes(
        r#"{ "grants": [{ "source": "api", "change": ["git"] }] }"#,
        &["api", "upload", "git", "repository"],
    );
    check_changes(
        r#"{ "grants": [{ "source": "api", "change": ["file"], "push": true }, { "source": "api", "change": ["git"] }] }"#,
        &["api", "upload", "file", "push"],
    );
    check_changes(
        r#"{ "grants": [{ "source": "api", "set_lists": ["a", "b"], "push": false }] }"#,
        &["api", "upload", "list a"],
    );
    check_changes(
        r#"{ "grants": [{ "source": "api", "set_lists": ["team.*"] }] }"#,
        &["api", "upload", "list team.x"],
    );
    check_changes(
        r#"{ "grants": [{ "source": "api", "change": ["git", "file"], "set_lists": ["*"], "push": true }] }"#,
        &all,
    );
}

#[test]
fn a_denied_change_says_what_to_write_into_the_policy() {
    let policy = policy(r#"{ "grants": [] }"#).unwrap();
    let git = InstructionSource::Git { path: "a.ws".into(), commit: "c".into() };
    for (denied, expected) in [
        (
            policy.check_change(&git),
            "the rule policy does not grant a change of what comes from the file `a.ws` of the Git repository \
             (`\"change\": [\"git\"]` in the grant for the source `api`)",
        ),
        (
            policy.check_set_list("blocked"),
            "the rule policy does not grant a change of the list `blocked` (`\"set_lists\": [\"blocked\"]` in the grant \
             for the source `api`)",
        ),
        (
            policy.check_push(),
            "the rule policy does not grant a push to the repository (`\"push\": true` in the grant for the source `api`)",
        ),
    ] {
        assert_eq!(denied.unwrap_err().to_string(), expected);
    }
}

#[test]
fn an_invalid_policy_is_refused_with_its_mistake() {
    for (text, expected) in [
        ("", "EOF"),
        ("{}", "missing field `grants`"),
        (r#"{"grants": [{}]}"#, "missing field `source`"),
        (r#"{"grants": [{"source": "ftp"}]}"#, "unknown variant `ftp`"),
        (r#"{"grants": [{"source": "api", "feilds": []}]}"#, "unknown field `feilds`"),
        (r#"{"grants": [{"source": "api", "path": "a/"}]}"#, "`path` is allowed only for the sources"),
        (r#"{"grants": [{"source": "api", "fields": ["amuont"]}]}"#, "there is no field `amuont`"),
        (r#"{"grants": [{"source": "api", "fields": ["meta_data.x"]}]}"#, "there is no field `meta_data.x`"),
        (
            r#"{"grants": [{"source": "api", "history": ["median"]}]}"#,
            "there is no history function `median`",
        ),
        (
            r#"{"grants": [{"source": "api", "fuel": 10000001}]}"#,
            "grant 1: `fuel` is 10000001, at most 10000000",
        ),
        (r#"{"grants": [{"source": "api", "memory_pages": 257}]}"#, "at most 256 can be granted"),
        (r#"{"grants": [{"source": "api", "longest_window": "1 day"}]}"#, "not a window"),
        (r#"{"grants": [{"source": "git", "change": ["git"]}]}"#, "allowed only for the source `api`"),
        (r#"{"grants": [{"source": "upload", "set_lists": []}]}"#, "allowed only for the source `api`"),
        (r#"{"grants": [{"source": "file", "push": false}]}"#, "allowed only for the source `api`"),
        (r#"{"grants": [{"source": "api", "change": ["ledger"]}]}"#, "unknown variant `ledger`"),
        (r#"{"grants": [{"source": "api", "change": "git"}]}"#, "invalid type"),
        (r#"{"grants": [{"source": "api", "set_lists": ["a*b"]}]}"#, "there is no list `a*b`"),
        (r#"{"grants": [{"source": "api", "push": "yes"}]}"#, "invalid type"),
    ] {
        let error = policy(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert!(matches!(Policy::read(Path::new("/nowhere")), Err(PolicyError::Unreadable { .. })));
}
