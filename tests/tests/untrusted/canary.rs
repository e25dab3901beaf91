//! One rule writes a secret wherever it can; the next rule reads everything it can.

use std::time::Instant;

use tollgate_model::assessment::{RuleFailure, RuleOutcome, RuleStatement};
use tollgate_tests::{proof, repository};

use super::bench::Bench;
use super::guest::{self, assembled, manifest_of, with_manifest};

const SECRET: &str = "The canary of tollgate sings where no guest of the house hears.!";

#[test]
fn a_module_reads_nothing_of_the_secret_that_its_neighbour_writes() {
    let mut bench = Bench::new();
    // The last three must see nothing of the writer: neither its memory nor its table nor its texts.
    let names = [
        "a13_writes_a_secret_everywhere",
        "a13_reads_everything",
        "a9_null_in_the_table",
        "a13_says_nothing_of_its_own",
    ];
    let modules = names.map(of_file);
    let rule_set = bench.rule_set(&modules).unwrap();
    let expected = [
        RuleOutcome::MatchedSaying(Box::new(RuleStatement {
            score: Some(0.123),
            reason: Some(SECRET.to_owned()),
        })),
        RuleOutcome::NotMatched,
        RuleOutcome::Failed(RuleFailure::Trap),
        RuleOutcome::Matched,
    ];
    let n_rounds = proof::rounds(2_000, 100_000);
    let start = Instant::now();
    for round in 0..n_rounds {
        assert_eq!(bench.outcomes(&rule_set), expected, "round {round}");
    }
    let micros = start.elapsed().as_secs_f64() * 1e6 / n_rounds as f64;
    println!("{n_rounds} alternations, 0 leaks, {micros:.0} microseconds each");
}

#[test]
fn the_reader_finds_a_secret_where_there_is_one() {
    for offset in [0, 4_096, 65_472] {
        let text = repository::read(&repository::root().join("tests/hostile/a13_reads_everything.wat"));
        let memory = "(memory (export \"memory\") 1)";
        let seeded = text.replace(memory, &format!("{memory}\n  (data (i32.const {offset}) \"{SECRET}\")"));
        assert_ne!(seeded, text);
        let module = assembled("a seeded secret", &seeded);
        let mut bench = Bench::new();
        let manifest = manifest_of("seeded").to_string();
        let rule_set = bench.rule_set(&[with_manifest(&module, manifest.as_bytes())]).unwrap();
        assert_eq!(bench.outcomes(&rule_set), [RuleOutcome::Matched], "at {offset}");
    }
}

fn of_file(name: &str) -> Vec<u8> {
    guest::of_files().into_iter().find(|guest| guest.name == name).unwrap().bytes
}
