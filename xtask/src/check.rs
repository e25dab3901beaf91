//! Checks that a commit must pass, and tests by name.

use std::time::Instant;

use crate::{arch, process, root};

/// Crates whose tests need neither root nor another program.
const CRATES: [&str; 7] = [
    "tollgate-guest-abi",
    "tollgate-compiler",
    "tollgate-model",
    "tollgate-history",
    "tollgate-engine",
    "tollgate-store",
    "tollgate-links",
];
/// Suites that look at the files alone.
const SUITES: [&str; 3] = ["tidy::", "documentation::", "seeded_bugs::every_bug_applies"];

/// Runs all checks, up to the first that fails.
pub(crate) fn run() -> anyhow::Result<()> {
    arch::run(true)?;
    let mut took = Vec::new();
    for (name, arguments) in steps() {
        println!("== {name}");
        let began = Instant::now();
        process::run(root(), "cargo", &arguments)?;
        took.push((name, began.elapsed()));
    }
    for (name, took) in took {
        println!("{name:<12} {:>6.1} s", took.as_secs_f64());
    }
    Ok(())
}

fn steps() -> [(&'static str, Vec<&'static str>); 4] {
    let unit_tests = ["test", "--locked", "--workspace", "--lib"];
    let files = ["test", "--locked", "--workspace", "--test", "all", "--"];
    [
        ("format", vec!["fmt", "--all", "--check"]),
        ("lints", vec!["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
        ("unit tests", unit_tests.to_vec()),
        ("files", files.into_iter().chain(SUITES).collect()),
    ]
}

/// Runs the tests of a crate, or those against the real binary whose names contain `name`.
pub(crate) fn test(name: &str, is_release: bool, arguments: &[String]) -> anyhow::Result<()> {
    let of_crate = format!("tollgate-{name}");
    let mut all = vec!["test", "--locked"];
    if is_release {
        all.push("--release");
    }
    if CRATES.contains(&of_crate.as_str()) {
        all.extend(["--package", &of_crate, "--"]);
    } else {
        all.extend(["--workspace", "--test", "all", "--", name]);
    }
    all.extend(arguments.iter().map(String::as_str));
    process::run(root(), "cargo", &all)
}
