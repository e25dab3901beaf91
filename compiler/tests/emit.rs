//! Checks that every emitted module is small and valid under a minimal feature set, and that its manifest lists its
//! needs.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use tollgate_compiler::CheckedRule;
use tollgate_compiler::emit::{EmitError, EmittedModule, emit};
use tollgate_guest_abi::imports::{IMPORTS, MODULE};
use tollgate_guest_abi::limits::MODULE_BYTES_MAX;
use tollgate_guest_abi::{
    Condition, EVALUATE_EXPORT, FieldPath, MANIFEST_SECTION, Manifest, RuleEntry, Verdict,
};
use wasmparser::{ExternalKind, Parser, Payload, Validator, WasmFeatures};

/// The only WebAssembly features that a compiled module may use.
const FEATURES: WasmFeatures = WasmFeatures::WASM1
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY);

fn rule(name: &str, when: Value) -> CheckedRule {
    CheckedRule {
        entry: RuleEntry {
            name: name.to_owned(),
            description: None,
            verdict: Verdict::Review,
            score: 0.5,
            reason: "a reason".to_owned(),
        },
        when: serde_json::from_value::<Condition>(when).unwrap(),
        tests: Vec::new(),
    }
}

fn compare(left: Value, operator: &str, right: Value) -> Value {
    json!({"compare": {"left": left, "operator": operator, "right": right}})
}

fn field(path: &str) -> Value {
    json!({"field": path})
}

fn count(window: &str) -> Value {
    let filter = compare(field("source"), "==", json!({"current": "source"}));
    json!({"aggregate": {"function": "count", "value": "amount", "filter": filter, "window": window}})
}

/// Emits and validates a module, and checks the properties of every module.
#[track_caller]
fn check(rules: &[CheckedRule]) -> EmittedModule {
    let module = emit(rules).unwrap();
    Validator::new_with_features(FEATURES).validate_all(&module.bytes).unwrap();
    let mut rows = IMPORTS.iter();
    let mut exports = Vec::new();
    let mut manifest = None;
    for payload in Parser::new(0).parse_all(&module.bytes) {
        match payload.unwrap() {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.unwrap();
                    assert_eq!(import.module, MODULE);
                    assert!(rows.any(|row| row.name == import.name), "`{}` in table order", import.name);
                }
            }
            Payload::ExportSection(section) => exports.extend(section.into_iter().map(Result::unwrap)),
            Payload::CustomSection(section) => {
                assert_eq!(section.name(), MANIFEST_SECTION);
                manifest = Some(Manifest::from_bytes(section.data()).unwrap());
            }
            Payload::MemorySection(_)
            | Payload::TableSection(_)
            | Payload::GlobalSection(_)
            | Payload::DataSection(_)
            | Payload::ElementSection(_)
            | Payload::StartSection { .. } => panic!("a compiled module cannot remember anything"),
            _ => {}
        }
    }
    assert_eq!(manifest.as_ref(), Some(&module.manifest));
    assert_eq!(exports.len(), 1);
    assert_eq!((exports[0].name, exports[0].kind), (EVALUATE_EXPORT, ExternalKind::Func));
    assert_eq!(module.manifest.rules.len(), rules.len());
    assert!(module.bytes.len() <= MODULE_BYTES_MAX);
    assert_eq!(emit(rules).unwrap(), module, "the same rules give the same module");
    module
}

#[track_caller]
fn check_refused(rules: &[CheckedRule], message: &str) {
    assert_eq!(emit(rules).unwrap_err().to_string(), message);
}

#[test]
fn equal_needs_share_a_slot_across_the_rules_of_a_slice() {
    let over = |limit: f64| compare(count("PT1H"), ">", json!({"number": limit}));
    let module = check(&[
        rule("A", over(5.0)),
        rule("B", json!({"all": [compare(field("currency"), "==", json!({"text": "EUR"})), over(9.0)]})),
        rule("C", compare(field("currency"), "==", json!({"text": "EUR"}))),
        rule("D", compare(count("P1D"), ">", json!({"number": 1}))),
    ]);
    let needs = &module.manifest.needs;
    assert_eq!(needs.aggregates.len(), 2);
    assert_eq!(needs.texts, ["EUR"]);
    assert_eq!(needs.fields, [FieldPath::parse("currency")]);
    assert_eq!(module.manifest.cost.history_lookups, 2);
}

#[test]
fn a_field_that_is_asked_for_twice_is_read_once() {
    let amount = |operator, limit: f64| compare(field("amount"), operator, json!({"number": limit}));
    let once = check(&[rule("A", amount(">", 5.0))]);
    let both = json!({"all": [amount(">", 5.0), amount("<", 9.0)]});
    let thrice = check(&[rule("A", both), rule("B", amount("==", 1.0))]);
    assert_eq!(once.manifest.cost.host_calls, 1);
    assert_eq!(thrice.manifest.cost.host_calls, 1);
}

#[test]
fn a_rule_of_numbers_alone_asks_the_host_nothing() {
    let module = check(&[rule("A", compare(json!({"number": 1}), "<", json!({"number": 2})))]);
    assert_eq!(module.manifest.cost.host_calls, 0);
}

#[test]
fn a_slice_of_64_rules_is_one_module_and_65_are_refused() {
    let rules: Vec<_> = (0..65)
        .map(|n| rule(&format!("R{n}"), compare(field("metadata.n"), "!=", json!({"number": n}))))
        .collect();
    check(&rules[..64]);
    check_refused(&rules, "65 rules for one module, at most 64 are allowed");
    check_refused(&[], "a module needs at least one rule");
}

#[test]
fn more_fields_than_locals_still_make_a_valid_module() {
    let tests: Vec<_> = (0..300)
        .flat_map(|n| {
            let path = format!("metadata.key_{n}");
            [
                compare(field(&path), "!=", json!({"text": "x"})),
                compare(field(&path), "!=", json!({"number": 1})),
            ]
        })
        .collect();
    check(&[rule("A", json!({"any": tests}))]);
}

#[test]
fn a_module_over_its_limit_is_refused_with_its_size() {
    let tests: Vec<_> = (0..3_000)
        .map(|n| compare(field(&format!("metadata.key_{n}")), "==", json!({"number": n})))
        .collect();
    let error = emit(&[rule("A", json!({"all": tests}))]).unwrap_err();
    assert!(matches!(error, EmitError::TooLarge { bytes } if bytes > MODULE_BYTES_MAX), "{error}");
}

#[test]
fn forms_that_no_script_has_are_refused() {
    let text = || json!({"text": "EUR"});
    for (when, form) in [
        (compare(text(), "==", json!({"boolean": true})), "a comparison of two literals"),
        (compare(json!({"current": "amount"}), ">", json!({"number": 1})), "`$current` outside a filter"),
        (
            json!({"matches": {"value": text(), "pattern": "x", "negated": false}}),
            "a pattern search in a literal",
        ),
        (json!({"all": []}), "an empty chain of conditions"),
    ] {
        check_refused(
            &[rule("A", when)],
            &format!("rule `A` cannot be compiled to a module: it contains {form}"),
        );
    }
}
