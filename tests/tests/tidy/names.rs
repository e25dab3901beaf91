//! Names: one type name has one meaning, predicates have no effects, and identifiers contain no metaphors.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use tollgate_tests::repository;

/// Type names that occur in more than one module, each with the reason. The list may only shrink.
pub(crate) const HOMONYMS: [(&str, &str); 1] =
    [("Result", "the standard library's result with the error of a module")];

/// Words that identifiers must not contain, and their replacements.
const BANNED: [(&str, &str); 23] = [
    ("buried", "dead letter"),
    ("bury", "store dead letter"),
    ("carrying", "the verb of what is done"),
    ("courtesy", "background, yielding"),
    ("doorway", "listener"),
    ("errand", "operation"),
    ("hall", "connection context"),
    ("hasten", "compile searches"),
    ("house", "fixture"),
    ("kin", "batch"),
    ("planted", "seeded"),
    ("porter", "acceptor"),
    ("pulse", "timers"),
    ("river", "pipeline"),
    ("shelf", "key table"),
    ("shelves", "key tables"),
    ("stood", "stored, current"),
    ("stool", "health slot"),
    ("stranger", "untrusted"),
    ("telling", "channel"),
    ("tenant", "spill source"),
    ("ticket", "pending entry"),
    ("witness", "durability checker"),
];

/// Type names that must not occur, and their replacements.
const BANNED_TYPES: [(&str, &str); 6] = [
    ("Later", "Completion"),
    ("Means", "…Deps"),
    ("News", "CommitMessage"),
    ("Place", "the kind of position"),
    ("TakenOn", "InFlightPermit"),
    ("Told", "the kind of report"),
];

/// The kit is the authors' API: its `has_` and `is_` functions return an `Option`, `None` for a missing value.
const KIT: &str = "guest-abi/kit/";

/// Returns every type name that more than one production file defines.
pub(crate) fn homonyms() -> Vec<String> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let defined =
        Regex::new(r"(?m)^ *(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|trait|union|type) ([A-Z]\w*)")
            .unwrap();
    for path in production() {
        let relative = repository::relative(&path);
        let text = repository::read(&path);
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for name in defined.captures_iter(text).map(|found| found[1].to_owned()) {
            let is_associated = text.contains(&format!("    type {name} ="));
            if !is_associated {
                files.entry(name).or_default().push(relative.clone());
            }
        }
    }
    files.into_iter().filter(|(_, files)| files.len() > 1).map(|(name, _)| name).collect()
}

/// Returns predicates that change state or do not return a `bool`.
pub(crate) fn false_predicates(path: &Path) -> Vec<String> {
    let relative = repository::relative(path);
    if relative.starts_with(KIT) {
        return Vec::new();
    }
    let text = repository::read(path);
    let head = Regex::new(r"(?s)(#\[test\]\s*)?(?:pub(?:\([^)]*\))? )?(?:const )?(?:async )?fn ((?:is|has|can)_\w+)(?:<[^>{]*>)?\((.*?)[{;]").unwrap();
    let found = head.captures_iter(&text).filter(|found| found.get(1).is_none());
    let is_false = |rest: &str| rest.contains("&mut self") || !rest.trim_end().ends_with("-> bool");
    found.filter(|found| is_false(&found[3])).map(|found| format!("{relative}: `{}`", &found[2])).collect()
}

/// Returns identifiers with a banned word, and the replacements.
pub(crate) fn metaphors(path: &Path) -> Vec<String> {
    let relative = repository::relative(path);
    static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b[A-Za-z_]\w*\b").unwrap());
    static STRING: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""(?:\\.|[^"\\])*""#).unwrap());
    let mut found = Vec::new();
    for (n, line) in repository::read(path).lines().enumerate() {
        let banned_type = BANNED_TYPES.iter().find(|(banned, _)| is_defined(line, banned));
        found.extend(banned_type.map(|(_, better)| format!("{relative}:{}: write {better}", n + 1)));
        if line.trim_start().starts_with("//") {
            continue;
        }
        let code = STRING.replace_all(line, "\"\"");
        let code = code.split(" // ").next().unwrap_or_default();
        for name in NAME.find_iter(code).map(|found| found.as_str()) {
            if let Some(better) = better_than(name) {
                found.push(format!("{relative}:{}: `{name}`: write {better}", n + 1));
            }
        }
    }
    found
}

fn is_defined(line: &str, name: &str) -> bool {
    let words: Vec<&str> = line.split([' ', '<', '(', ';']).filter(|word| !word.is_empty()).collect();
    words.windows(2).any(|pair| ["struct", "enum", "trait", "type"].contains(&pair[0]) && pair[1] == name)
}

fn better_than(name: &str) -> Option<&'static str> {
    let words = words_of(name);
    let banned = |word: &&(&str, &str)| words.iter().any(|own| own.trim_end_matches('s') == word.0);
    BANNED.iter().find(banned).map(|(_, better)| *better)
}

/// Returns the words of an identifier in any naming style, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        words.last_mut().unwrap().extend(letter.to_lowercase().filter(|letter| *letter != '_'));
        was_lower = letter.is_lowercase() || letter.is_ascii_digit();
    }
    words
}

/// Returns the source files of the service, the compiler and the author kit.
fn production() -> Vec<std::path::PathBuf> {
    let folders = ["host", "compiler/src", "guest-abi"];
    let files = folders.into_iter().flat_map(|folder| repository::files(folder, ".rs"));
    files.filter(|path| !repository::relative(path).contains("/tests")).collect()
}

#[test]
fn a_type_is_found_where_it_is_defined() {
    assert!(is_defined(concat!("pub(super) struct Pla", "ce(u64);"), "Place"));
    assert!(!is_defined("    Place,", "Place"));
}

#[test]
fn words_are_found_in_every_spelling() {
    for name in ["AggregateKin", "kin_of", "KIN_MAX", "Kin"] {
        assert_eq!(better_than(name), Some("batch"), "{name}");
    }
    for name in ["kind", "Skin", "taking", "meanwhile", "chall"] {
        assert_eq!(better_than(name), None, "{name}");
    }
}
