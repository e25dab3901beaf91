//! Fuzzes the compiler with random token sequences inside a rule. They pass the lexer and exercise parser, checker and
//! emission.
#![no_main]

mod judge;

use std::fmt::Write as _;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
enum Token {
    Phrase(u8),
    Number(u16, u8),
    Text(String),
    Name(u8),
}

/// Phrases long enough that random sequences form meaningful conditions.
const PHRASES: [&str; 62] = [
    "and", "or", "not", "(", ")", ",", "==", "!=", ">", ">=", "<", "<=", "+", "-", "*", "/", "in", "not_in",
    "regex", "not_regex", "between", "true", "false", "amount", "currency", "source", "status", "timestamp",
    "inflight", "metadata.a", "meta_data.a.b", "metadata.list", "$current.source", "\"$current.amount\"",
    "$current.metadata.list", "$watched", "count(when", "sum(amount when", "avg(", "distinct(source where",
    "stddev(metadata.a when", ", \"PT1H\")", ", \"P1D\",)", "previous_transaction(", "within: \"PT15M\",",
    "match: {", "status: \"failed\"", "}", "hour_of_day(timestamp)", "day_of_week(metadata.when, \"Africa/Lagos\")",
    "\"EUR\"", "'a'", "\"42\"", "\"0042\"", "\"^[A-Z]{3}$\"", "\"2026-03-01T00:00:00Z\"", "\"Saturday\"",
    "(\"a\", 42, true)", "source == $current.source", "== true", "// note\n", "\r\n",
];

const NAMES: [&str; 8] = ["amount", "colour", "count", "score", "metadata", "rule", "then", "x"];

fn write(script: &mut String, token: &Token) {
    let chosen = |words: &[&str], index: u8| words[usize::from(index) % words.len()].to_owned();
    let text = match token {
        Token::Phrase(index) => chosen(&PHRASES, *index),
        Token::Name(index) => chosen(&NAMES, *index),
        Token::Number(whole, 0) => whole.to_string(),
        Token::Number(whole, fraction) => format!("{whole}.{fraction}"),
        Token::Text(text) => format!("{text:?}"),
    };
    // Writing to a string cannot fail.
    let _ = write!(script, "{text} ");
}

fuzz_target!(|tokens: Vec<Token>| {
    let mut script = String::from("rule Fuzzed { when ");
    for token in &tokens {
        write(&mut script, token);
    }
    script.push_str("then review score 0.5 reason \"because\" }");
    judge::judge(&script);
});
