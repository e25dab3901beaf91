//! Checks the pages for rule authors against the compiler: every example is compiled.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says by panicking what is wrong with the page"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tollgate_compiler::{Code, CompileOptions, Diagnostic, Severity, compile, render};

fn read(page: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the scripts in the code blocks of a page, each with its heading.
fn scripts(page: &str) -> Vec<(String, String)> {
    let mut scripts = Vec::new();
    let mut heading = String::new();
    let mut open: Option<String> = None;
    for line in page.lines() {
        match &mut open {
            Some(script) if line == "```" => {
                scripts.push((heading.clone(), expand(script)));
                open = None;
            }
            Some(script) => {
                script.push_str(line);
                script.push('\n');
            }
            None if line == "```tollgate" => open = Some(String::new()),
            None => {
                if let Some(title) = line.strip_prefix("## ") {
                    heading = title.to_owned();
                }
            }
        }
    }
    assert!(open.is_none(), "a code block is not closed");
    scripts
}

/// Expands the shorthand of the page: `⟨`text` × 65⟩` and `⟨U+202E⟩`.
fn expand(script: &str) -> String {
    let mut expanded = String::new();
    let mut rest = script;
    while let Some((before, behind)) = rest.split_once('⟨') {
        let (short, after) = behind.split_once('⟩').expect("the bracket is closed");
        expanded.push_str(before);
        if let Some(code_point) = short.strip_prefix("U+") {
            let number = u32::from_str_radix(code_point, 16).expect("a code point");
            expanded.push(char::from_u32(number).expect("a character"));
        } else {
            let (text, count) = short.rsplit_once("` × ").expect("a text and how often");
            let text = text.strip_prefix('`').expect("the text stands in backticks");
            for i in 0..count.parse::<usize>().expect("how often") {
                expanded.push_str(&text.replace('№', &i.to_string()));
            }
        }
        rest = after;
    }
    expanded + rest
}

fn lists() -> BTreeSet<String> {
    ["suspicious_amounts", "blocked_accounts", "high_risk_countries", "merchants.watched", "payroll_sources"]
        .map(str::to_owned)
        .into()
}

fn diagnose(script: &str) -> Vec<Diagnostic> {
    compile(script, &CompileOptions { named_lists: Some(&lists()), ..CompileOptions::default() }).diagnostics
}

#[test]
fn every_code_has_its_section_and_every_section_its_code() {
    let page = read("diagnostics.md");
    let headings: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("## ")?.split(':').next()).collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(headings, codes);
}

#[test]
fn codes_are_given_once_and_in_order() {
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let mut sorted = codes.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(codes, sorted);
    for code in Code::ALL {
        let is_warning = code.as_str().starts_with('W');
        assert_eq!(code.severity() == Severity::Warning, is_warning, "{code}");
    }
}

#[test]
fn every_section_shows_a_script_that_gets_its_code_and_one_that_is_well() {
    let page = read("diagnostics.md");
    let mut by_heading: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (heading, script) in scripts(&page) {
        by_heading.entry(heading).or_default().push(script);
    }
    for code in Code::ALL {
        let (heading, examples) =
            by_heading.iter().find(|(heading, _)| heading.starts_with(code.as_str())).expect("a section");
        let found: BTreeSet<Code> = diagnose(&examples[0]).iter().map(|found| found.code).collect();
        let expected: BTreeSet<Code> = match code {
            Code::TooManyErrors => [Code::TooManyErrors, Code::ForeignOperator].into(),
            code => [*code].into(),
        };
        assert_eq!(found, expected, "{heading}");
        for cured in &examples[1..] {
            let diagnostics = diagnose(cured);
            assert!(diagnostics.is_empty(), "{heading}\n{}", render(cured, "cure", &diagnostics, false));
        }
    }
}

#[test]
fn every_script_of_the_language_reference_compiles_without_a_word() {
    let page = read("language.md");
    let scripts = scripts(&page);
    assert!(scripts.len() >= 20, "{}", scripts.len());
    for (heading, script) in scripts {
        let diagnostics = diagnose(&script);
        assert!(diagnostics.is_empty(), "{heading}\n{}", render(&script, "language.md", &diagnostics, false));
    }
}
