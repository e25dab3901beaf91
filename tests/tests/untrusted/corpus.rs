//! All named hostile modules.

use std::collections::BTreeSet;

use tollgate_engine::sandbox::CheckedModule;
use tollgate_engine::sandbox::Execution;
use tollgate_model::assessment::RuleOutcome;
use tollgate_model::instruction::Grant;

use super::bench::Bench;
use super::guest::{self, Expected, Guest};
use super::wrong_imports::{self, WrongImport};
use super::{binaries, limits, manifests, second_reader, traffic};

/// Checks that the second reader of module structure also makes.
const OF_STRUCTURE: [&str; 15] = [
    "size",
    "format",
    "sections",
    "types",
    "imports",
    "functions",
    "body",
    "locals",
    "blocks",
    "branches",
    "exports",
    "start",
    "memory",
    "table",
    "globals",
];

/// Modules with wrong operand types, which the second reader does not check.
const OF_OPERANDS: [&str; 2] = ["features_not_well_typed", "features_stack_underflow"];

/// Returns all modules, by name.
pub(crate) fn all() -> Vec<Guest> {
    [guest::of_files(), binaries::guests(), limits::guests(), manifests::guests()].concat()
}

#[test]
fn there_are_more_than_120_texts_and_no_two_modules_have_one_name() {
    assert!(guest::of_files().len() > 120, "{} files", guest::of_files().len());
    let all = all();
    let names: BTreeSet<&str> = all.iter().map(|guest| guest.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn the_second_reader_has_nothing_against_what_is_let_in() {
    let mut wrong = Vec::new();
    for guest in all().iter().filter(|guest| !matches!(guest.expected, Expected::Refused(_))) {
        let found = second_reader::violations(&guest.bytes);
        if !found.is_empty() {
            wrong.push(format!("{}: {found:?}", guest.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_second_reader_names_what_is_wrong_with_the_structure() {
    let (mut wrong, mut n_named) = (Vec::new(), 0);
    for guest in all() {
        let Expected::Refused(checks) = &guest.expected else { continue };
        let is_of_structure = checks.iter().all(|check| OF_STRUCTURE.contains(&check.as_str()));
        if !is_of_structure || OF_OPERANDS.contains(&guest.name.as_str()) {
            continue;
        }
        let found = second_reader::violations(&guest.bytes);
        if found.iter().any(|violation| checks.iter().any(|check| check == violation.check)) {
            n_named += 1;
        } else {
            wrong.push(format!("{} ({}): {found:?}", guest.name, guest.expected));
        }
    }
    assert!(wrong.is_empty() && n_named > 100, "{n_named} named, not:\n{}", wrong.join("\n"));
}

#[test]
fn every_module_is_refused_by_the_check_its_name_says_or_dies_as_it_says() {
    for execution in [Execution::Compiled, Execution::Interpreted] {
        check_corpus(execution);
    }
}

#[track_caller]
fn check_corpus(execution: Execution) {
    let (mut bench, mut wrong) = (Bench::executing(execution), Vec::new());
    for guest in all() {
        let said = match bench.rule_set(std::slice::from_ref(&guest.bytes)) {
            Err(checks) => Expected::Refused(checks),
            Ok(rule_set) => match bench.outcomes(&rule_set).as_slice() {
                [RuleOutcome::Failed(failure)] => Expected::Fails(failure.as_str().to_owned()),
                [RuleOutcome::NotMatched] => Expected::Harmless("approve".to_owned()),
                [_] => Expected::Harmless("block".to_owned()),
                other => panic!("{other:?}"),
            },
        };
        let is_as_said = match (&guest.expected, &said) {
            (Expected::Refused(expected), Expected::Refused(said)) => {
                said.iter().any(|check| expected.contains(check))
            }
            // Compilation in this process has no limits.
            (Expected::Refused(expected), _) if expected == &["compilation"] => true,
            // This module decides its own verdict.
            (Expected::Harmless(_), Expected::Harmless(_)) if guest.name == "a12_allow_by_a_match" => true,
            (expected, said) => expected == said,
        };
        if !is_as_said {
            wrong.push(format!("{} ({}): {said}", guest.name, guest.expected));
        }
    }
    assert!(wrong.is_empty(), "{execution:?}, {} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_host_function_of_another_type_and_every_other_name_is_refused() {
    let all = wrong_imports::all();
    for WrongImport { what, bytes } in &all {
        let refusal = CheckedModule::check(bytes, Grant::default()).unwrap_err();
        let is_import = refusal.findings.iter().any(|finding| finding.check == "imports");
        assert!(is_import, "{what}: {refusal}");
        let shown = refusal.to_string();
        assert_eq!(traffic::shown_badly(&shown), None, "{shown:?}");
        let found = second_reader::violations(bytes);
        assert!(found.iter().any(|violation| violation.check == "imports"), "{what}: {found:?}");
    }
    println!("{} imports refused", all.len());
}
