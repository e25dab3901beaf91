//! Everything hostile that has a name.

use std::collections::BTreeSet;

use super::guest::{self, Expected, Guest};
use super::{binaries, limits, manifests, second_reader};

/// Checks that a second reader of structure can make as well.
const OF_STRUCTURE: [&str; 15] = [
    "size", "format", "sections", "types", "imports", "functions", "body", "locals", "blocks", "branches", "exports",
    "start", "memory", "table", "globals",
];

/// All modules, by name.
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
        if !checks.iter().all(|check| OF_STRUCTURE.contains(&check.as_str())) {
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
