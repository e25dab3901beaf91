//! The order of the modules within each crate of `host`: a module uses only itself and earlier ones. Cargo enforces the
//! order of the crates.

use std::path::Path;

use regex::Regex;
use tollgate_tests::repository;

/// Modules from the lowest to the highest layer.
pub(crate) const MODULES: [&str; 52] = [
    // nouns
    "config",
    "clock",
    "background",
    "secret",
    "decimal",
    "sequence",
    "signature",
    "transaction",
    "value_set",
    "calendar",
    "pattern",
    "named_list",
    "hold",
    "instruction",
    "assessment",
    "alert",
    // engine
    "records",
    "history",
    "sandbox",
    "policy",
    "registry",
    "fusion",
    "evaluation",
    // edges
    "store",
    "process",
    "git",
    "artifacts",
    "outbound",
    "load",
    // telemetry
    "latency",
    "metrics",
    "readiness",
    "traces",
    "request_ids",
    "logs",
    "holding",
    // rules
    "intake",
    "git_sync",
    "replay",
    // pipeline
    "alerting",
    "monitor",
    "activity",
    // ledger
    "database",
    "kind",
    "payments",
    "event",
    "sync",
    // boundaries and assembly
    "api",
    "cli",
    "service",
    "lib",
    "main",
];

/// Crates below `host` that are one module each.
const SINGLE: [&str; 7] = ["api", "records", "history", "store", "load", "process", "git"];

/// Returns a file of `host` as module and path within it: `store/connection.rs`, `sandbox/artifact.rs`.
pub(crate) fn inside(path: &Path) -> String {
    let relative = repository::relative(path);
    let Some((name, rest)) = relative.trim_start_matches("host/").split_once("/src/") else {
        return relative;
    };
    match rest {
        "lib.rs" if SINGLE.contains(&name) => format!("{name}.rs"),
        rest if SINGLE.contains(&name) => format!("{name}/{rest}"),
        rest => rest.to_owned(),
    }
}

/// Returns the module that a file of `host` belongs to.
pub(crate) fn module_of(path: &Path) -> String {
    inside(path).split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned()
}

/// Returns every use of a module of a higher layer.
pub(crate) fn violations(path: &Path) -> Vec<String> {
    let module = module_of(path);
    let rank = |module: &str| MODULES.iter().position(|known| *known == module);
    let own = rank(&module);
    if SINGLE.contains(&module.as_str()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (line, used) in uses(&code(path)) {
        let known = rank(&used);
        // A name that is not a module is an item of the crate root, which re-exports nothing from higher layers.
        if used != module && known.is_some() && known > own {
            found.push(format!("{}:{line}: {module} uses {used}", repository::relative(path)));
        }
    }
    found
}

/// Returns a file without comments, line by line.
fn code(path: &Path) -> String {
    let text = repository::read(path);
    let lines = text.lines().map(|line| if line.trim_start().starts_with("//") { "" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns line and first name of every path that starts at the crate, including groups.
fn uses(text: &str) -> Vec<(usize, String)> {
    let path = Regex::new(r"\bcrate::(\w+|\{)").unwrap();
    let mut found = Vec::new();
    for start in path.captures_iter(text) {
        let name = start.get(1).unwrap();
        let line = 1 + text.get(..name.start()).unwrap_or_default().matches('\n').count();
        if name.as_str() == "{" {
            let names = group(text.get(name.end()..).unwrap_or_default());
            found.extend(names.into_iter().map(|name| (line, name)));
        } else {
            found.push((line, name.as_str().to_owned()));
        }
    }
    found
}

/// Returns the first names of a group `a::b, c::{d, e}, f}`.
fn group(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut depth = 0;
    for character in text.chars() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(String::new()),
            other => names.last_mut().unwrap().push(other),
        }
    }
    names.iter().map(|name| name.trim().split("::").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn uses_are_found_in_every_spelling() {
    let text = "use crate::store::Store;\nuse crate::{api::Routes, history::{A, B}, decimal};\nfn f() { crate::cli::run() }\n";
    let names: Vec<(usize, String)> = uses(text);
    let expected = [(1, "store"), (2, "api"), (2, "history"), (2, "decimal"), (3, "cli")];
    assert_eq!(names, expected.map(|(line, name)| (line, name.to_owned())));
}
