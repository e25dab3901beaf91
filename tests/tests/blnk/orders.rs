//! Sends every recorded request and row in any order, once to three times, over one path or both, with a kill or
//! restart in between. The payments must equal those of the model.

use serde_json::Value;
use tollgate_tests::{Home, Service, audit, needs, proof, sample};

use crate::blnk::recordings::{Sent, Stored, sent, stored};
use crate::blnk::tables::{Tables, caught_up};
use crate::blnk::truth::{check, check_no_conflict, payments};
use crate::blnk::{Chance, home, tell};

/// Recorded requests that are always rejected: amounts of more than 38 digits.
const N_DEAD: u64 = 2;

/// A report of Blnk.
#[derive(Clone, Copy)]
enum Report<'n> {
    Sent(&'n Sent),
    Stored(&'n Stored),
}

impl Report<'_> {
    fn entry(&self) -> Option<&Value> {
        match self {
            Report::Sent(sent) => sent.entry.as_ref(),
            Report::Stored(stored) => Some(&stored.entry),
        }
    }
}

/// A home with a rule, so that verdicts are derived.
fn home_with_a_rule() -> Home {
    let home = home();
    let earlier = r#"count(when source == $current.source and status == "APPLIED", "P30D") >= 1"#;
    home.write_rule("earlier.ws", sample::rule("earlier", earlier));
    home
}

/// Sends all reports in this order, with a kill or restart before position `gap`, and checks the result.
#[track_caller]
fn run(reports: &[Report<'_>], gap: usize, kills: bool, tables: Option<&Tables>, when: &str) {
    let mut home = home_with_a_rule();
    if let Some(tables) = tables {
        tables.empty();
        tables.feeds(&mut home);
    }
    let mut service = Some(Service::start(&home));
    let mut rows = Vec::new();
    for (index, report) in reports.iter().enumerate() {
        if index == gap {
            let stopped = service.take().unwrap();
            if kills {
                stopped.kill()
            } else {
                drop(stopped.stop())
            }
            service = Some(Service::start(&home));
        }
        match report {
            Report::Sent(sent) => {
                let answer = tell(service.as_ref().unwrap(), &sent.body);
                assert_eq!(answer.status, 200, "{when}, {}: {}", sent.kind, answer.text());
            }
            // Consecutive rows are read together.
            Report::Stored(stored) => {
                rows.push(*stored);
                if rows.len() == 7 {
                    tables.unwrap().store(rows.drain(..));
                }
            }
        }
    }
    let service = service.unwrap();
    if let Some(tables) = tables {
        tables.store(rows);
        caught_up(&service);
    }
    check(&service, &payments(reports.iter().filter_map(Report::entry)), when);
    let n_dead = if reports.iter().any(|report| matches!(report, Report::Sent(_))) { N_DEAD } else { 0 };
    check_no_conflict(&service, n_dead, when);
    drop(service.stop());
    audit::replay(&home).all_follow();
}

fn shuffled<'n>(chance: &mut Chance, sent: &'n [Sent], stored: &'n [Stored]) -> Vec<Report<'n>> {
    let mut reports = Vec::new();
    for one in sent {
        reports.extend(std::iter::repeat_n(Report::Sent(one), 1 + chance.below(3)));
    }
    // A table contains each row once.
    reports.extend(stored.iter().map(Report::Stored));
    chance.shuffle(&mut reports);
    reports
}

/// Runs this many random orders, each with a kill or restart at a random position.
#[track_caller]
fn check_shuffles(of: &str, n: usize, sent: &[Sent], stored: &[Stored]) {
    let tables = (!stored.is_empty()).then(Tables::open);
    let seed = proof::seed(of);
    for round in proof::share(n) {
        let mut chance = Chance(seed.wrapping_add(round as u64));
        let reports = shuffled(&mut chance, sent, stored);
        let gap = chance.below(reports.len());
        run(
            &reports,
            gap,
            chance.below(2) == 0,
            tables.as_ref(),
            &format!("{of}, seed {seed}, round {round}"),
        );
    }
}

#[test]
fn events_alone_come_to_the_truth_forwards_and_backwards() {
    let sent = sent();
    let mut reports: Vec<_> = sent.iter().map(Report::Sent).collect();
    run(&reports, reports.len(), false, None, "forwards");
    reports.reverse();
    run(&reports, reports.len(), false, None, "backwards");
}

#[test]
fn events_alone_come_to_the_truth_in_every_order() {
    check_shuffles("events", proof::rounds(4, 1_000), &sent(), &[]);
}

#[test]
fn rows_alone_come_to_the_truth_in_every_order() {
    needs!(PostgreSql);
    check_shuffles("rows", proof::rounds(2, 1_000), &[], &stored());
}

#[test]
fn events_and_rows_come_to_the_truth_in_every_order() {
    needs!(PostgreSql);
    check_shuffles("events and rows", proof::rounds(3, 1_000), &sent(), &stored());
}

#[test]
fn a_kill_at_any_gap_changes_nothing() {
    let sent = sent();
    let reports: Vec<_> = sent.iter().rev().map(Report::Sent).collect();
    for gap in (0..reports.len()).step_by(if proof::is_full() { 1 } else { 12 }) {
        run(&reports, gap, true, None, &format!("killed before {gap}"));
    }
}
