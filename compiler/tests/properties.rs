//! Properties of every text: compiling and rendering do not panic, positions are inside the script, and there is a rule
//! exactly when there is no error.

use proptest::prelude::*;
use proptest::sample::select;
use tollgate_compiler::{CheckedRule, Code, CompileOptions, DIAGNOSTICS_MAX, Severity, compile, render};
use tollgate_guest_abi::Condition;

/// Tokens of the language, near misses, and text that is not a token.
const WORDS: &[&str] = &[
    "rule",
    "RULE",
    "R",
    "{",
    "}",
    "description",
    "when",
    "then",
    "and",
    "or",
    "not",
    "in",
    "not_in",
    "regex",
    "not_regex",
    "where",
    "between",
    "true",
    "false",
    "score",
    "reason",
    "allow",
    "block",
    "review",
    "amount",
    "currency",
    "source",
    "timestamp",
    "metadata",
    "meta_data.kyc",
    ".",
    "$",
    "$current",
    "$current.source",
    "$list",
    "(",
    ")",
    ",",
    ":",
    "==",
    "!=",
    ">",
    ">=",
    "<",
    "<=",
    "+",
    "-",
    "*",
    "/",
    "=",
    "&&",
    "!",
    "[",
    "]",
    ";",
    "@",
    "5",
    "0",
    "0.5",
    "1e3",
    "5.",
    "\"USD\"",
    "'x'",
    "\"PT1H\"",
    "\"P0D\"",
    "\"$current.source\"",
    "\"$current\"",
    "\"(\"",
    "\"Monday\"",
    "\"",
    "'",
    "count",
    "sum",
    "distinct",
    "count(",
    "sum(amount when",
    "hour_of_day(",
    "day_of_week(timestamp)",
    "previous_transaction(",
    "within:",
    "match:",
    "match: {",
    "// x\n",
    "# x\n",
    "\n",
    "\t",
    "\u{feff}",
    "\u{202e}",
    "é",
    "\0",
    "\\",
];

fn soup() -> impl Strategy<Value = String> {
    proptest::collection::vec((select(WORDS), select(&["", " ", " ", " "][..])), 0..80)
        .prop_map(|words| words.into_iter().flat_map(|(word, blank)| [word, blank]).collect())
}

/// A rule with random tokens as its condition.
fn rule_around(soup: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    soup.prop_map(|soup| format!("rule R {{ when {soup} then review score 0.5 reason \"r\" }}"))
}

/// A valid rule with one range replaced.
fn broken() -> impl Strategy<Value = String> {
    const GOOD: &str = "rule Velocity {\n  description \"many\"\n  when amount > 10 and (currency == \"USD\" or \
        count(when source == $current.source, \"PT1H\") >= 5)\n    and previous_transaction(within: \"P1D\", match: { \
        source: \"$current.source\", status: \"failed\" })\n  then block score 0.9 reason \"too many\"\n}\n";
    (0..GOOD.len(), 0..20_usize, prop_oneof![select(WORDS).prop_map(str::to_owned), any::<String>()])
        .prop_map(|(at, length, put_in)| {
            let end = (at + length).min(GOOD.len());
            format!("{}{put_in}{}", GOOD.get(..at).unwrap_or_default(), GOOD.get(end..).unwrap_or_default())
        })
}

fn holds(script: &str) -> Result<(), TestCaseError> {
    let compilation = compile(script, &CompileOptions::default());
    let diagnostics = &compilation.diagnostics;
    let has_error = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    prop_assert_eq!(compilation.rule.is_none(), has_error);
    prop_assert!(diagnostics.len() <= 2 * DIAGNOSTICS_MAX + 1);
    prop_assert!(
        diagnostics.is_sorted_by_key(|diagnostic| diagnostic.span.start),
        "in the order of the script"
    );

    let lines: Vec<&str> = script.strip_prefix('\u{feff}').unwrap_or(script).split('\n').collect();
    for diagnostic in diagnostics {
        let inside = |line: usize, column: usize| {
            let text = line.checked_sub(1).and_then(|line| lines.get(line));
            text.is_some_and(|text| (1..=text.chars().count() + 1).contains(&column))
        };
        prop_assert!(inside(diagnostic.line, diagnostic.column), "{:?}", diagnostic);
        prop_assert!(inside(diagnostic.end.line, diagnostic.end.column), "{:?}", diagnostic);
        prop_assert!(script.get(diagnostic.span.clone()).is_some(), "{:?}", diagnostic);
        prop_assert!(!diagnostic.message.chars().any(char::is_control), "{:?}", diagnostic);
    }
    let drawn = render(script, "r.ws", diagnostics, true);
    prop_assert_eq!(drawn.is_empty(), diagnostics.is_empty());

    // Two errors at one position would be one mistake reported twice.
    let mut starts: Vec<usize> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error && diagnostic.code != Code::TooManyErrors)
        .map(|diagnostic| diagnostic.span.start)
        .collect();
    let n_errors = starts.len();
    starts.dedup();
    prop_assert_eq!(starts.len(), n_errors, "{:?}", diagnostics);

    if let Some(rule) = compilation.rule {
        prop_assert_eq!(read_back(&rule), Some(rule.when));
    }
    Ok(())
}

/// Reads the condition back through a JSON parser with a depth limit.
fn read_back(rule: &CheckedRule) -> Option<Condition> {
    let json = serde_json::to_string(rule).ok()?;
    let read: serde_json::Value = serde_json::from_str(&json).ok()?;
    serde_json::from_value(read.get("when")?.clone()).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn any_text_is_answered_with_diagnostics_inside_it(script in any::<String>()) {
        holds(&script)?;
    }

    #[test]
    fn any_soup_of_tokens_is_answered_with_diagnostics_inside_it(script in soup()) {
        holds(&script)?;
    }

    #[test]
    fn any_condition_is_answered_with_diagnostics_inside_it(script in rule_around(soup())) {
        holds(&script)?;
    }

    #[test]
    fn a_rule_with_a_wound_is_answered_with_diagnostics_inside_it(script in broken()) {
        holds(&script)?;
    }
}
