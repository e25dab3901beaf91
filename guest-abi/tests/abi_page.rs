#![cfg(test)]
//! Checks `docs/abi.md` against the tables of this crate.

#[path = "kit/answers.rs"]
mod answers;

use answers::ANSWERS;
use tollgate_guest_abi::imports::{IMPORTS, Import, MODULE, ValueType};
use tollgate_guest_abi::{
    ABI_VERSION, AggregateFunction, EVALUATE_EXPORT, MANIFEST_SECTION, Manifest, RULES_PER_MODULE_MAX,
    TimeFunction, Verdict, limits, prices,
};

const PAGE: &str = include_str!("../../docs/abi.md");

/// Asserts that some line of the page begins with `row`.
#[track_caller]
fn check_row(row: &str) {
    assert!(PAGE.lines().any(|line| line.starts_with(row)), "no row `{row}`");
}

#[track_caller]
fn check_words(words: &str) {
    assert!(PAGE.contains(words), "nothing about `{words}`");
}

const fn type_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::I32 => "i32",
        ValueType::F64 => "f64",
    }
}

#[test]
fn every_import_stands_in_it_with_its_type() {
    for import in IMPORTS {
        let params: Vec<_> = import.params.iter().map(|param| type_name(*param)).collect();
        let result = import.result.map_or("()", type_name);
        let Import { name, fuel, .. } = import;
        check_row(&format!("| `{name}` | `({}) -> {result}` | {fuel} |", params.join(", ")));
    }
}

#[test]
fn every_answer_stands_in_it_with_its_value() {
    for answer in ANSWERS {
        check_row(&format!("| {} | `{}` | {} |", answer.value, answer.name, answer.about));
        let (first, rest) = answer.group.split_at(1);
        check_words(&format!("### {first}{}s", rest.to_lowercase()));
    }
}

#[test]
fn limits_stand_in_it_with_their_values() {
    for (name, value) in [
        ("MODULE_BYTES_MAX", limits::MODULE_BYTES_MAX as u64),
        ("RULES_PER_MODULE_MAX", RULES_PER_MODULE_MAX as u64),
        ("FUEL_PER_RUN", limits::FUEL_PER_RUN),
        ("WINDOW_SECONDS_MAX", limits::WINDOW_SECONDS_MAX.into()),
        ("PATTERN_BYTES_MAX", limits::PATTERN_BYTES_MAX as u64),
        ("PATTERN_COMPILED_BYTES_MAX", limits::PATTERN_COMPILED_BYTES_MAX as u64),
        ("PATTERN_NESTING_MAX", limits::PATTERN_NESTING_MAX.into()),
        ("PATTERN_HAYSTACK_BYTES_MAX", limits::PATTERN_HAYSTACK_BYTES_MAX as u64),
        ("NUMBER_DIGITS_MAX", limits::NUMBER_DIGITS_MAX as u64),
        ("FUNCTIONS_MAX", limits::FUNCTIONS_MAX as u64),
        ("TYPES_MAX", limits::TYPES_MAX as u64),
        ("PARAMS_MAX", limits::PARAMS_MAX as u64),
        ("IMPORTS_MAX", limits::IMPORTS_MAX as u64),
        ("GLOBALS_MAX", limits::GLOBALS_MAX as u64),
        ("EXPORTS_MAX", limits::EXPORTS_MAX as u64),
        ("BODY_BYTES_MAX", limits::BODY_BYTES_MAX as u64),
        ("LOCALS_MAX", limits::LOCALS_MAX.into()),
        ("BLOCKS_MAX", limits::BLOCKS_MAX as u64),
        ("BLOCK_DEPTH_MAX", limits::BLOCK_DEPTH_MAX as u64),
        ("BRANCH_TARGETS_MAX", limits::BRANCH_TARGETS_MAX as u64),
        ("SEGMENTS_MAX", limits::SEGMENTS_MAX as u64),
        ("TABLE_ELEMENTS_MAX", limits::TABLE_ELEMENTS_MAX),
        ("MEMORY_PAGES_MAX", limits::MEMORY_PAGES_MAX),
        ("MEMORY_PAGES_GRANTED_MAX", limits::MEMORY_PAGES_GRANTED_MAX),
        ("FUEL_GRANTED_MAX", limits::FUEL_GRANTED_MAX),
        ("HOST_CALLS_MAX", limits::HOST_CALLS_MAX.into()),
        ("FUEL_PER_TEXT_BYTE", limits::FUEL_PER_TEXT_BYTE),
        ("SEARCHED_BYTE", prices::SEARCHED_BYTE),
        ("SEARCHED_BYTE_PER_KIB", prices::SEARCHED_BYTE_PER_KIB),
        ("ROWS", prices::ROWS),
        ("ROW", prices::ROW),
        ("ROW_FIELD", prices::ROW_FIELD),
        ("ROW_TEST", prices::ROW_TEST),
        ("ROW_TIME", prices::ROW_TIME),
        ("SEARCH", prices::SEARCH),
        ("ROW_TEXT_BYTES", prices::ROW_TEXT_BYTES as u64),
        ("DISTINCT_VALUE", prices::DISTINCT_VALUE),
        ("ELEMENT", prices::ELEMENT),
        ("EQUAL_KEY", prices::EQUAL_KEY),
        ("INSTANCE", prices::INSTANCE),
        ("MEMORY_PAGE", prices::MEMORY_PAGE),
        ("NEEDS_MAX", limits::NEEDS_MAX as u64),
        ("REASON_BYTES_MAX", limits::REASON_BYTES_MAX as u64),
    ] {
        check_row(&format!("| `{name}` | {value} |"));
    }
}

#[test]
fn names_and_words_of_the_contract_stand_in_it() {
    check_words(&format!("version\n**{ABI_VERSION}**"));
    check_words(&format!("module `{MODULE}`"));
    check_words(&format!("`{EVALUATE_EXPORT}: () -> i64`"));
    check_words(&format!("`{MANIFEST_SECTION}`"));
    AggregateFunction::ALL.iter().for_each(|function| check_words(&format!("`{}`", function.as_str())));
    TimeFunction::ALL.iter().for_each(|function| check_words(&format!("`{}`", function.as_str())));
    Verdict::ALL.iter().for_each(|verdict| check_words(&format!("`{}`", verdict.as_str())));
}

#[test]
fn its_examples_are_manifests() {
    let examples: Vec<&str> = PAGE.split("```json\n").skip(1).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let (example, _) = example.split_once("```").expect("its end");
        let manifest = Manifest::from_bytes(example.as_bytes()).unwrap();
        assert_eq!(Manifest::from_bytes(&manifest.to_bytes()), Ok(manifest), "read, written and read again");
    }
}
