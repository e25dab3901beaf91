//! Checks fused modules against single-rule modules. The results are equal, and no host call is made twice. A fused
//! module makes no call that no single rule makes, and every expensive call that some single rule makes.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    clippy::unreachable,
    reason = "a test fails by panicking, and its numbers are small"
)]

#[path = "fused/batches.rs"]
mod batches;
#[path = "fused/machine.rs"]
mod machine;
#[path = "fused/world.rs"]
mod world;

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate_compiler::CheckedRule;
use tollgate_compiler::emit::{EmitError, EmittedModule, emit};
use tollgate_guest_abi::limits::{BODY_BYTES_MAX, LOCALS_MAX};
use tollgate_guest_abi::{Condition, Cost, RuleEntry, Verdict};

use machine::{Machine, Ran};
use world::{Asked, World};

fn rule(when: &Value) -> CheckedRule {
    CheckedRule {
        entry: RuleEntry {
            name: "R".to_owned(),
            description: None,
            verdict: Verdict::Review,
            score: 0.5,
            reason: "a reason".to_owned(),
        },
        when: serde_json::from_value::<Condition>(when.clone()).unwrap(),
        tests: Vec::new(),
    }
}

/// Returns the result of a module and its host calls, in order. Asserts that neither exceeds the cost in the manifest.
fn run(module: &EmittedModule, world: World) -> (u64, Vec<Asked>) {
    let manifest = &module.manifest;
    let mut all_asked = Vec::new();
    let Ran { bits, n_instructions } = Machine::new(&module.bytes).run(|import, arguments| {
        let (asked, answer) = world.answer(&manifest.needs, import, arguments);
        all_asked.push(asked);
        answer
    });
    let Cost { instructions, host_calls, history_lookups } = manifest.cost;
    assert!(n_instructions <= instructions, "{n_instructions} instructions of at most {instructions}");
    assert!(all_asked.len() <= host_calls as usize, "{} calls of at most {host_calls}", all_asked.len());
    let lookups: BTreeSet<&Asked> = all_asked.iter().filter(|asked| is_lookup(asked)).collect();
    assert!(lookups.len() <= history_lookups as usize, "{} lookups of {history_lookups}", lookups.len());
    (bits, all_asked)
}

/// Collects every list and every pattern with the value that is looked up or searched.
fn gather_tests(condition: &Value, tests: &mut BTreeSet<String>) {
    match condition {
        Value::Array(parts) => parts.iter().for_each(|part| gather_tests(part, tests)),
        Value::Object(members) => {
            for (name, inner) in members {
                let about = inner.get("list").or_else(|| inner.get("pattern"));
                if let ("in" | "matches", Some(about)) = (name.as_str(), about) {
                    tests.insert(json!([inner["value"], about]).to_string());
                } else {
                    gather_tests(inner, tests);
                }
            }
        }
        _ => {}
    }
}

fn is_lookup(asked: &Asked) -> bool {
    matches!(asked.import.as_str(), "aggregate" | "previous")
}

/// Runs a slice fused and one by one.
#[track_caller]
fn check(conditions: &[Value], seeds: impl IntoIterator<Item = u64>) {
    let rules: Vec<CheckedRule> = conditions.iter().map(rule).collect();
    let fused = emit(&rules).unwrap();
    let singles: Vec<EmittedModule> =
        rules.iter().map(|rule| emit(std::slice::from_ref(rule)).unwrap()).collect();
    let mut of_numbers = BTreeSet::new();
    conditions.iter().for_each(|condition| gather_tests(condition, &mut of_numbers));
    let n_of_numbers = of_numbers.len();
    for seed in seeds {
        let world = World { seed };
        let (bits, asked) = run(&fused, world);
        let once: BTreeSet<&Asked> = asked.iter().collect();
        // Two computed numbers may be equal, so calls with computed numbers are only counted.
        let (of_numbers, of_slots): (Vec<&Asked>, Vec<&Asked>) =
            asked.iter().partition(|asked| asked.import.ends_with("_number"));
        assert!(of_numbers.len() <= n_of_numbers, "asked twice: {of_numbers:#?}");
        let of_slots_once: BTreeSet<&Asked> = of_slots.iter().copied().collect();
        assert_eq!(of_slots_once.len(), of_slots.len(), "asked twice: {of_slots:#?}");

        let mut expected = 0;
        let mut asked_alone = BTreeSet::new();
        for (bit, single) in singles.iter().enumerate() {
            let (holds, asked) = run(single, world);
            expected |= holds << bit;
            asked_alone.extend(asked);
        }
        assert_eq!(bits, expected, "seed {seed}");
        for asked in once.iter().filter(|asked| !asked.is_read()) {
            assert!(asked_alone.contains(*asked), "no rule alone asks this: {asked:?}, seed {seed}");
        }
        // Literal lists that became symbol sets need no host call.
        for asked in asked_alone.iter().filter(|asked| !asked.is_read() && asked.import != "member") {
            assert!(once.contains(asked), "a rule alone asks this: {asked:?}, seed {seed}");
        }
    }
}

fn compare(left: Value, operator: &str, right: Value) -> Value {
    json!({"compare": {"left": left, "operator": operator, "right": right}})
}

fn field(path: &str) -> Value {
    json!({"field": path})
}

fn matches(path: &str, pattern: &str) -> Value {
    json!({"matches": {"value": field(path), "pattern": pattern, "negated": false}})
}

fn text_equality(path: &str, text: &str) -> Value {
    compare(field(path), "==", json!({"text": text}))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_rules_say_together_what_they_say_alone(batch in batches::batch(), seed: u32) {
        check(&batch, (0..8).map(|n| u64::from(seed) + n));
    }
}

#[test]
fn a_question_behind_different_conditions_is_asked_by_the_first_that_is_reached() {
    let behind = |text: &str| json!({"all": [text_equality("source", text), matches("currency", "x")]});
    let either = json!({"any": [text_equality("metadata.a", "a"), matches("currency", "x"), behind("b")]});
    check(&[behind("a"), either, json!({"not": behind("c")}), behind("b")], 0..200);
}

#[test]
fn a_list_of_many_texts_beside_many_others_is_a_set_of_several_words() {
    let items = |from: usize, step: usize| {
        let texts: Vec<Value> = (0..60)
            .map(|n| json!({"text": format!("t{}", from + n * step)}))
            .chain([json!({"text": "b"})])
            .collect();
        json!({"in": {"value": field("source"), "list": {"items": texts}, "negated": from % 2 == 1}})
    };
    check(&[items(0, 1), items(1, 5), items(2, 9), text_equality("source", "a")], 0..200);
}

#[test]
fn a_chain_of_many_cheap_tests_is_left_on_the_way() {
    let tests = |operator: &str| -> Vec<Value> {
        (0..100).map(|n| compare(field("metadata.a"), operator, json!({"number": n}))).collect()
    };
    check(&[json!({"any": tests("==")}), json!({"all": tests("!=")})], 0..200);
}

#[test]
fn a_group_of_rules_that_would_be_slow_to_compile_is_refused() {
    let fields = |from: usize| {
        let tests: Vec<Value> =
            (from..from + 150).map(|n| text_equality(&format!("metadata.key_{n}"), "a")).collect();
        json!({"any": tests})
    };
    let refused = |conditions: &[Value]| emit(&conditions.iter().map(rule).collect::<Vec<_>>()).unwrap_err();
    let twice = [fields(0), fields(150), fields(0), fields(150)];
    let locals = EmitError::TooComplex { what: "locals", n: 302, n_max: LOCALS_MAX as usize };
    assert_eq!(refused(&twice), locals);
    assert_eq!(
        locals.to_string(),
        "the function of these rules would have 302 locals, at most 256 are allowed"
    );
    let tests: Vec<Value> = (0..900).map(|n| compare(field("amount"), "!=", json!({"number": n}))).collect();
    let long = [json!({"all": tests}), json!({"all": tests})];
    let what = "bytes of instructions";
    let error = refused(&long);
    assert!(
        matches!(error, EmitError::TooComplex { what: found, n, n_max: BODY_BYTES_MAX } if found == what && n > BODY_BYTES_MAX),
        "{error}"
    );
}
