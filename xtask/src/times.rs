//! How long tests took.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::root;

/// Number of tests that are listed.
const N_SLOWEST: usize = 20;

/// A test of a run.
#[derive(Debug, PartialEq)]
struct Timed {
    /// For tests against the real binary, the module; for unit tests, the crate.
    suite: String,
    name: String,
    seconds: f64,
}

/// Prints the slowest tests, the time by suite, and the suites that took longer than their budget.
pub(crate) fn print(output: &Path, budget: &Path) -> anyhow::Result<()> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| path.display().to_string());
    let mut tests = tests(&read(output)?);
    let budget = minutes(&read(&root().join(budget))?)?;
    let mut suites = BTreeMap::<&str, (usize, f64)>::new();
    for test in &tests {
        let suite = suites.entry(&test.suite).or_default();
        *suite = (suite.0 + 1, suite.1 + test.seconds);
    }
    let mut by_time: Vec<(&str, (usize, f64))> = suites.into_iter().collect();
    by_time.sort_by(|one, other| other.1.1.total_cmp(&one.1.1));
    println!("{:<28} {:>6} {:>9} {:>9}", "suite", "tests", "seconds", "budget");
    for (suite, (n_tests, seconds)) in &by_time {
        let limit = limit(&budget, suite) * 60.0;
        let excess =
            if *seconds > limit { format!("  {:.1} s too long", seconds - limit) } else { String::new() };
        println!("{suite:<28} {n_tests:>6} {seconds:>9.1} {limit:>9.1}{excess}");
    }
    tests.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    println!("\nthe slowest tests, in seconds");
    for Timed { suite, name, seconds } in tests.iter().take(N_SLOWEST) {
        println!("{seconds:>9.1}  {suite}::{name}");
    }
    Ok(())
}

/// Returns the tests in the output of `cargo test … --report-time`, in which each program is named before its tests.
fn tests(output: &str) -> Vec<Timed> {
    let mut program = "";
    let mut tests = Vec::new();
    for line in output.lines() {
        if let Some((_, path)) = line.split_once(" (target/") {
            let file = path.rsplit('/').next().unwrap_or_default();
            program = file.rsplit_once('-').map_or(file, |(name, _)| name);
            continue;
        }
        let Some((name, result)) = line.strip_prefix("test ").and_then(|line| line.split_once(" ... "))
        else {
            continue;
        };
        let seconds = result.rsplit_once('<').and_then(|(_, time)| time.strip_suffix("s>")?.parse().ok());
        let Some(seconds) = seconds else { continue };
        let (suite, name) = match name.split_once("::") {
            Some((suite, name)) if program == "all" => (suite, name),
            _ => (program, name),
        };
        tests.push(Timed { suite: suite.to_owned(), name: name.to_owned(), seconds });
    }
    tests
}

/// Returns the minutes by suite. Each line has a suite and a number; `*` stands for suites that are not listed.
fn minutes(budget: &str) -> anyhow::Result<BTreeMap<String, f64>> {
    let lines = budget.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (suite, minutes) = line.split_once(' ').with_context(|| format!("no minutes: {line}"))?;
            Ok((suite.to_owned(), minutes.trim().parse().with_context(|| line.to_owned())?))
        })
        .collect()
}

fn limit(budget: &BTreeMap<String, f64>, suite: &str) -> f64 {
    budget.get(suite).or_else(|| budget.get("*")).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_read_with_their_suite_from_what_cargo_and_the_programs_print() {
        let output = "     Running unittests src/lib.rs (target/debug/deps/tollgate_model-0123456789abcdef)
running 1 test
test money::amounts_are_exact ... ok <0.010s>
     Running tests/all.rs (target/debug/deps/all-0123456789abcdef)
test lists::a_list_is_replaced ... ok <2.500s>
test lists::a_list_is_shown has been running for over 60 seconds
test lists::files::a_list_is_read ... FAILED <61.000s>
test lists::is_ignored ... ignored
";
        let timed =
            |suite: &str, name: &str, seconds| Timed { suite: suite.into(), name: name.into(), seconds };
        let expected = [
            timed("tollgate_model", "money::amounts_are_exact", 0.01),
            timed("lists", "a_list_is_replaced", 2.5),
            timed("lists", "files::a_list_is_read", 61.0),
        ];
        assert_eq!(super::tests(output), expected);
    }

    #[test]
    fn a_suite_without_a_line_has_the_budget_of_the_others() {
        let budget = minutes("# minutes\n* 0.5\nlists 2\n").unwrap();
        assert_eq!((limit(&budget, "lists"), limit(&budget, "times")), (2.0, 0.5));
        assert!(minutes("lists").is_err());
    }
}
