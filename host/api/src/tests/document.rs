//! Checks `/openapi.json` against the router and against real bodies.

use std::collections::BTreeSet;

use chrono::DateTime;
use tollgate_guest_abi::{Cost, RuleEntry, Semantics, Verdict};
use tollgate_model::alert::AlertId;
use tollgate_model::assessment::{Assessment, RuleFailure, RuleOutcome};
use tollgate_model::instruction::{
    ContentDigest, Instruction, InstructionId, InstructionRecord, InstructionSource, Quarantine,
    QuarantineCause,
};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_store::{AlertRecord, DeadAlert};

use super::*;

fn document() -> Value {
    let answer = Fixture::new().get("/openapi.json");
    assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, "application/json"));
    answer.json()
}

#[test]
fn every_error_a_route_lists_stands_under_its_status() {
    let document = document();
    for route in routes::routes() {
        let operation = &document["paths"][&route.path][route.method.as_str().to_lowercase()];
        for code in route.errors() {
            let response = &operation["responses"][code.status().as_str()];
            let words = response["description"].as_str().unwrap_or_default();
            assert!(words.contains(&format!("`{}`", code.as_str())), "{} {code:?}", route.path);
            assert_eq!(
                response["content"]["application/json"]["schema"]["$ref"],
                "#/components/schemas/Error"
            );
        }
    }
}

#[test]
fn the_document_names_its_version_and_licence_and_every_shape() {
    let document = document();
    assert_eq!(document["info"]["version"], "1.0.0");
    assert_eq!(document["info"]["license"]["name"], "Apache-2.0");
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    for name in [
        "Transaction",
        "StoredTransaction",
        "Assessment",
        "Instruction",
        "Diagnostic",
        "Error",
        "WebhookEnvelope",
    ] {
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    fn check(document: &Value, value: &Value) {
        match value {
            Value::Object(members) => {
                if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                    assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
                }
                members.values().for_each(|member| check(document, member));
            }
            Value::Array(items) => items.iter().for_each(|item| check(document, item)),
            _ => {}
        }
    }
    let document = document();
    check(&document, &document);
}

#[test]
fn every_operation_has_an_id_of_its_own() {
    let document = document();
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|item| item.as_object().unwrap().values());
    let ids: Vec<&str> = operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    let distinct: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
}

/// Returns the properties of a schema, including those of referenced schemas.
fn properties(document: &Value, schema: &Value) -> BTreeSet<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.trim_start_matches('#')).unwrap();
        return properties(document, target);
    }
    let own = schema["properties"].as_object().into_iter().flat_map(|own| own.keys().cloned());
    let parts = schema["allOf"].as_array().into_iter().flatten();
    own.chain(parts.flat_map(|part| properties(document, part))).collect()
}

fn names(body: &Value) -> BTreeSet<String> {
    body.as_object().unwrap().keys().cloned().collect()
}

/// Returns the property names of one schema of the document, in order.
pub(super) fn properties_of(schema: &str) -> Vec<String> {
    let document = document();
    properties(&document, &document["components"]["schemas"][schema]).into_iter().collect()
}

#[track_caller]
fn check_shape(schema: &str, body: &Value) {
    let named: Vec<String> = names(body).into_iter().collect();
    assert_eq!(properties_of(schema), named);
}

fn entry() -> RuleEntry {
    RuleEntry {
        name: "a".into(),
        description: None,
        verdict: Verdict::Deny,
        score: 0.5,
        reason: "because".into(),
    }
}

#[test]
fn the_shape_of_an_assessment_is_the_one_that_is_answered() {
    let entry = entry();
    let outcomes = [RuleOutcome::Matched, RuleOutcome::Failed(RuleFailure::HostCall)];
    let outcomes = outcomes.into_iter().map(|outcome| (InstructionId(1), &entry, outcome));
    let assessment = Assessment::consolidate("t", (1, Semantics::CURRENT), DateTime::default(), outcomes);
    let body = serde_json::to_value(&assessment).unwrap();
    check_shape("Assessment", &body);
    check_shape("Triggered", &body["triggered"][0]);
    check_shape("FailedRule", &body["failures"][0]);
}

#[test]
fn the_shape_of_a_transaction_is_the_one_that_is_echoed() {
    let sent = br#"{"transaction_id": "t", "amount": 1, "currency": "EUR", "source": "s", "destination": "d", "reference": "r",
        "description": "x", "status": "y", "hash": "h", "effective_date": "2026-01-02T03:04:05Z",
        "scheduled_for": "2026-01-02T03:04:05Z", "inflight_expiry_date": "2026-01-02T03:04:05Z", "meta_data": {}}"#;
    let transaction = Transaction::parse(sent, DateTime::default()).unwrap().0;
    let echoed: Value = serde_json::from_str(&transaction.to_wire()).unwrap();
    check_shape("Transaction", &echoed);
}

#[test]
fn the_shape_of_an_instruction_is_the_one_that_is_answered() {
    let record = InstructionRecord {
        owner: None,
        id: InstructionId(7),
        name: "a".into(),
        script: Some("rule a { when amount > 1 then deny }".into()),
        source: InstructionSource::File { path: "x/a.ws".into() },
        module: vec![0; 5],
        quarantine: Some(Quarantine {
            since: DateTime::default(),
            cause: QuarantineCause::Failures,
            reason: "it failed".into(),
        }),
        created_at: DateTime::default(),
        updated_at: DateTime::default(),
        origin: None,
    };
    let instruction = Instruction {
        record: Arc::new(record),
        entry: entry(),
        checked: None,
        digest: ContentDigest::of_bytes(&[0; 5]),
        abi_version: 1,
        cost: Cost::default(),
        warnings: Vec::new(),
    };
    let body = serde_json::to_value(instructions::view::InstructionView::from(&instruction)).unwrap();
    check_shape("Instruction", &body);
    check_shape("Module", &body["module"]);
    check_shape("Cost", &body["module"]["cost"]);
    assert_eq!(body["source"], serde_json::json!({ "kind": "file", "path": "x/a.ws" }));
    assert_eq!(body["created_at"], "1970-01-01T00:00:00.000000Z");
    assert_eq!(body["module"]["bytes"], 5);
}

#[test]
fn the_shapes_of_dead_letters_are_those_that_are_answered() {
    let fixture = Fixture::new();
    check_shape("DeadLetters", &fixture.get("/alerts/dead-letters").json());
    let record = AlertRecord {
        sequence: Sequence(1),
        id: AlertId::from_stored("alert_1"),
        transaction_id: "t".into(),
        payload: "{}".into(),
        created_micros: 0,
    };
    let letter = DeadAlert { record, n_attempts: 10, error: "status 500".to_owned(), dead_micros: 1 };
    let view = alerts::dead_letters::DeadLetterView::from_letter(letter).unwrap();
    check_shape("DeadLetter", &serde_json::to_value(view).unwrap());
}

#[test]
fn the_shapes_of_lists_are_those_that_are_answered() {
    let fixture = Fixture::new();
    let path = "/lists/watched";
    let set = fixture.send("PUT", path, &[("content-type", "application/json")], r#"["a", "b"]"#);
    assert_eq!(set.status, StatusCode::CREATED);
    let mut saved = set.json();
    check_shape("SavedList", &saved);
    let warnings = ["warnings", "n_more_warnings"].map(|name| saved.as_object_mut().unwrap().remove(name));
    assert_eq!(warnings, [Some(serde_json::json!([])), Some(serde_json::json!(0))]);
    check_shape("List", &saved);
    assert_eq!(fixture.get("/lists").json(), serde_json::json!([saved]));
    let whole = fixture.get(path).json();
    check_shape("ListWithEntries", &whole);
    assert_eq!(whole["entries"], serde_json::json!(["a", "b"]));
}
