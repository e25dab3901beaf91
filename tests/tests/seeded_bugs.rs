//! Mutation tests: the suites find bugs that are seeded in a copy of the service.
//!
//! Each bug is a patch below `tests/bugs`. One build contains all of them, and an environment variable selects the
//! active one. A *gauntlet* is a series of requests and faults: those of the durability checker, or a conversation
//! about one guarantee. One gauntlet runs the tests of the crates of the history instead. A service without a bug passes
//! every gauntlet. A service with a bug fails the gauntlet that the table lists, with the listed word.
//!
//! The build takes minutes and runs in full mode only. Whether every patch applies is always tested.

mod conversations;
mod faults;
mod lives;
mod races;
mod table;
mod units;

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs};

use regex::bytes::Regex;
use serde_json::json;
use tollgate_tests::seeded::{SeededBug, VARIABLE, bugs, copy_with_bugs};
use tollgate_tests::{Home, Service, binary, needs, proof, repository, sample};

use table::{BUGS, GAUNTLETS};

/// An existing build with bugs, used instead of a new one.
const BINARY: &str = "TOLLGATE_SEEDED_BINARY";
/// Number of characters of a failure message printed before the expected word, and from there on.
const CHARS_BEFORE: usize = 60;
const CHARS_BEHIND: usize = 100;

/// A test that a service must pass; a failure panics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gauntlet {
    name: &'static str,
    run: fn(&Build),
}

/// The build with the bugs, and the name of the active one.
#[derive(Debug)]
pub(crate) struct Build {
    binary: PathBuf,
    /// The copy of the repository with all bugs.
    tree: PathBuf,
    /// Target directory of the copy, separate from the build without bugs.
    target: PathBuf,
    bug: Option<&'static str>,
    /// The word of the failure message that is expected of the bug; empty without one.
    word: &'static str,
}

impl Build {
    /// Copies the repository with all bugs below the target directory, and builds the copy unless a build exists.
    fn of_copy() -> Self {
        let target = binary::target_directory().unwrap_or_else(env::temp_dir).join("seeded");
        let tree = target.join("tree");
        copy_with_bugs(&tree);
        let existing = env::var_os(BINARY).map(PathBuf::from);
        let binary = existing.unwrap_or_else(|| binary::build(&tree, Some(&target)));
        Self { binary, tree, target, bug: None, word: "" }
    }

    /// Configures a home to use this build.
    pub(crate) fn at(&self, mut home: Home) -> Home {
        home.serve_by(&self.binary);
        if let Some(bug) = self.bug {
            home.set(VARIABLE, bug);
        }
        home
    }

    /// Runs a gauntlet. Returns the failure, if any, and the duration.
    fn go_through(&self, gauntlet: Gauntlet) -> (Option<String>, Duration) {
        let began = Instant::now();
        let found = panic::catch_unwind(AssertUnwindSafe(|| (gauntlet.run)(self))).err();
        (found.map(|complaint| text(&*complaint)), began.elapsed())
    }
}

/// Returns the message of a panic.
fn text(complaint: &(dyn Any + Send)) -> String {
    let text = complaint.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| complaint.downcast_ref::<&str>().copied()).unwrap_or("something without words").to_owned()
}

/// Returns the text around a word, on one line.
fn around(word: &str, complaint: &str) -> String {
    let complaint = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
    let n_before = complaint.split_once(word).map_or(0, |(before, _)| before.chars().count());
    let n_left_out = n_before.saturating_sub(CHARS_BEFORE);
    complaint.chars().skip(n_left_out).take(CHARS_BEFORE + CHARS_BEHIND).collect()
}

#[test]
fn every_bug_applies_and_has_a_gauntlet_of_its_own() {
    needs!(Git);
    let copy = tempfile::tempdir().unwrap();
    copy_with_bugs(&copy.path().join("tree"));
    let in_table: BTreeSet<&str> = BUGS.iter().map(|(name, ..)| *name).collect();
    let bugs = bugs();
    let patches: BTreeSet<&str> = bugs.iter().map(|bug| bug.name.as_str()).collect();
    assert_eq!(in_table, patches, "one line of the table for each patch");
    assert_eq!(in_table.len(), BUGS.len(), "a bug stands in the table twice");
}

#[test]
fn the_source_has_no_trace_of_a_bug() {
    let words = Regex::new(r"\bseeded::|SEEDED|(?i)planted").unwrap();
    for file in repository::files("host", ".rs") {
        assert!(!words.is_match(repository::read(&file).as_bytes()), "{}", repository::relative(&file));
    }
}

#[test]
fn the_released_program_has_no_seeded_bug() {
    let bytes = fs::read(binary::binary()).unwrap();
    assert!(!Regex::new(VARIABLE).unwrap().is_match(&bytes), "it knows {VARIABLE}");
    for name in ["none of these", "conflict_answered"] {
        let mut home = Home::new();
        home.set(VARIABLE, name);
        let service = Service::start(&home);
        let transaction = sample::transaction("t");
        assert_eq!(service.inject(&transaction).status, 200, "{name}");
        let other = sample::with(&transaction, &json!({"amount": 11}));
        assert_eq!(service.inject(&other).code(), "transaction_conflict", "{name}");
    }
}

#[test]
fn every_seeded_bug_is_found() {
    if !proof::is_full() && env::var_os(BINARY).is_none() {
        println!("SKIPPED: bugs are looked for with TOLLGATE_PROOF=full, or where {BINARY} names a build");
        return;
    }
    needs!(Git, Sqlite);
    // A single bug by name, for debugging.
    let wanted = env::var(VARIABLE).ok();
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let mut build = Build::of_copy();
    let bugs = bugs();
    let of_name = |name: &str| bugs.iter().find(|bug| bug.name == name).expect("a patch of this name");
    let began = Instant::now();
    let of_wanted = |gauntlet: &&Gauntlet| {
        BUGS.iter().any(|(name, beside, _)| is_wanted(name) && beside.name == gauntlet.name)
    };
    for gauntlet in GAUNTLETS.iter().filter(of_wanted) {
        let (found, took) = build.go_through(*gauntlet);
        assert_eq!(found, None, "without a bug, {} finds nothing", gauntlet.name);
        println!("no bug: {} finds nothing, {took:.1?}", gauntlet.name);
    }
    let (mut lines, mut missed) = (Vec::new(), Vec::new());
    for (name, gauntlet, word) in BUGS.into_iter().filter(|(name, ..)| is_wanted(name)) {
        let SeededBug { what, .. } = of_name(name);
        (build.bug, build.word) = (Some(name), word);
        let (found, took) = build.go_through(gauntlet);
        let is_caught = found.as_ref().is_some_and(|complaint| complaint.contains(word));
        let said = found.map_or("NOTHING".to_owned(), |complaint| around(word, &complaint));
        let line = format!("{name}: {what}\n    {}, {took:.1?}: {said}", gauntlet.name);
        println!("{line}");
        if !is_caught {
            missed.push(format!("{line}\n    and no word of `{word}`"));
        }
        lines.push(line);
    }
    println!("{} bugs, {} found, {:.0?}", lines.len(), lines.len() - missed.len(), began.elapsed());
    lines.iter().for_each(|line| println!("{line}"));
    assert!(missed.is_empty(), "{} are not found:\n{}", missed.len(), missed.join("\n"));
}
