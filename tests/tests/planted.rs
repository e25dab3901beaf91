#![cfg(test)]
//! Bugs on purpose, in the service itself: each is found by what looks for bugs here.
//!
//! A build of the service knows a list of mistakes (`host/src/planted.rs`), one of which is on at a time. A *gauntlet* is
//! what a service has to go through: the witness with its faults, or a conversation about one promise. One without a bug
//! passes every gauntlet; one with a bug fails the gauntlet that stands beside it in the table, with the word that does too.
//!
//! That build takes minutes, so it is made in the full mode alone; what is tested otherwise must not know of any bug.

#[path = "planted/conversations.rs"]
mod conversations;
#[path = "planted/faults.rs"]
mod faults;
#[path = "planted/lives.rs"]
mod lives;
#[path = "planted/races.rs"]
mod races;
#[path = "planted/table.rs"]
mod table;

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs};

use regex::bytes::Regex;
use serde_json::json;
use tollgate::planted::{Bug, VARIABLE};
use tollgate_tests::{Home, Service, binary, proof, sample};

use table::{BUGS, GAUNTLETS};

/// So many bugs there are at least.
const BUGS_MIN: usize = 25;
/// Letters of a complaint that are printed, before the word that is looked for and from there on.
const CHARS_BEFORE: usize = 60;
const CHARS_BEHIND: usize = 100;

/// What a service has to go through; whoever finds something panics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gauntlet {
    name: &'static str,
    run: fn(&Build),
}

/// The build that can have bugs, and the one that is on.
#[derive(Debug)]
pub(crate) struct Build {
    binary: PathBuf,
    bug: Option<Bug>,
}

impl Build {
    /// A home that is served by this build.
    pub(crate) fn at(&self, mut home: Home) -> Home {
        home.serve_by(&self.binary);
        if let Some(bug) = self.bug {
            home.set(VARIABLE, bug.name());
        }
        home
    }

    /// Goes through a gauntlet: what was found, and how long that took.
    fn go_through(&self, gauntlet: Gauntlet) -> (Option<String>, Duration) {
        let began = Instant::now();
        let found = panic::catch_unwind(AssertUnwindSafe(|| (gauntlet.run)(self))).err();
        (found.map(|complaint| text(&*complaint)), began.elapsed())
    }
}

/// What a panic says.
fn text(complaint: &(dyn Any + Send)) -> String {
    let text = complaint.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| complaint.downcast_ref::<&str>().copied()).unwrap_or("something without words").to_owned()
}

/// What stands around a word, on one line.
fn around(word: &str, complaint: &str) -> String {
    let complaint = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
    let n_before = complaint.split_once(word).map_or(0, |(before, _)| before.chars().count());
    let n_left_out = n_before.saturating_sub(CHARS_BEFORE);
    complaint.chars().skip(n_left_out).take(CHARS_BEFORE + CHARS_BEHIND).collect()
}

#[test]
fn every_bug_has_a_name_and_a_gauntlet_of_its_own() {
    let names: BTreeSet<&str> = Bug::ALL.iter().map(|bug| bug.name()).collect();
    assert!(names.len() == Bug::ALL.len() && names.len() >= BUGS_MIN, "{names:?}");
    let in_table: Vec<Bug> = BUGS.iter().map(|(bug, ..)| *bug).collect();
    assert_eq!(in_table, Bug::ALL, "one line of the table for each, in the same order");
}

#[test]
fn what_is_tested_and_released_knows_no_bug() {
    let bytes = fs::read(binary::binary()).unwrap();
    assert!(!Regex::new(VARIABLE).unwrap().is_match(&bytes), "it knows {VARIABLE}");
    for name in ["none of these", Bug::ConflictAnswered.name()] {
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
fn every_planted_bug_is_found() {
    if !proof::is_full() && env::var_os("TOLLGATE_PLANTED_BINARY").is_none() {
        println!("SKIPPED: bugs are planted with TOLLGATE_PROOF=full, or where TOLLGATE_PLANTED_BINARY is");
        return;
    }
    // One name alone, for whoever looks into one bug.
    let wanted = env::var(VARIABLE).ok();
    let is_wanted = |bug: Bug| wanted.as_deref().is_none_or(|wanted| wanted == bug.name());
    let mut build = Build { binary: binary::planted(), bug: None };
    check_unknown_names(&build);
    let began = Instant::now();
    let of_wanted = |gauntlet: &&Gauntlet| {
        BUGS.iter().any(|(bug, beside, _)| is_wanted(*bug) && beside.name == gauntlet.name)
    };
    for gauntlet in GAUNTLETS.iter().filter(of_wanted) {
        let (found, took) = build.go_through(*gauntlet);
        assert_eq!(found, None, "without a bug, {} finds nothing", gauntlet.name);
        println!("no bug: {} finds nothing, {took:.1?}", gauntlet.name);
    }
    let (mut lines, mut missed) = (Vec::new(), Vec::new());
    for (bug, gauntlet, word) in BUGS.into_iter().filter(|(bug, ..)| is_wanted(*bug)) {
        build.bug = Some(bug);
        let (found, took) = build.go_through(gauntlet);
        let is_caught = found.as_ref().is_some_and(|complaint| complaint.contains(word));
        let said = found.map_or("NOTHING".to_owned(), |complaint| around(word, &complaint));
        let line = format!("{}: {}\n    {}, {took:.1?}: {said}", bug.name(), bug.what(), gauntlet.name);
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

/// A name that is misspelled must not pass for a service without a bug.
#[track_caller]
fn check_unknown_names(build: &Build) {
    let mut home = build.at(Home::new());
    home.set(VARIABLE, "no_such_bug");
    let refusal = Service::try_start(&home).unwrap_err();
    assert!(refusal.code == Some(2) && refusal.log.join("\n").contains(VARIABLE), "{refusal:?}");
    home.set(VARIABLE, Bug::SeesItself.name());
    let (_, log) = Service::start(&home).stop();
    assert!(log.iter().any(|line| line.contains("A BUG IS PLANTED")), "{}", log.join("\n"));
}
