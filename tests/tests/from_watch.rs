//! A converted Watch rule gives the same result here as the original when each payment is part of its own history.

use std::process::Stdio;

use serde_json::{Value as Json, json};
use tollgate_compiler::from_watch::{RewrittenScript, rewrite_script};
use tollgate_compiler::{CheckedRule, CompileOptions, compile};
use tollgate_engine::sandbox::Sandbox;
use tollgate_tests::generator::dice::Dice;
use tollgate_tests::generator::{self, Batch};
use tollgate_tests::oracle::{Oracle, Subject};
use tollgate_tests::subject::Live;
use tollgate_tests::{Home, proof, repository, sample};

/// Aggregates of every kind, and filters that the payment itself satisfies always, sometimes or never.
const FUNCTIONS: [&str; 6] = ["count(", "sum(", "sum(amount ", "avg(", "min(", "max("];
const FILTERS: [&str; 12] = [
    "currency == $current.currency",
    "source == $current.source",
    "$current.source == source and destination == $current.destination",
    "source == $current.source and status == \"failed\"",
    "metadata.a == $current.meta_data.a",
    "amount > 2",
    "source == $current.destination",
    "source == $current.source or destination == $current.destination",
    "not (destination == $current.destination)",
    "source in ($current.destination, \"a\")",
    "transaction_id != $current.transaction_id",
    "amount >= $current.amount and created_at <= $current.timestamp",
];
const TESTS: [&str; 16] = [
    "§ >= 3",
    "§ > 1",
    "§ == 2",
    "§ != 2",
    "§ < 2",
    "§ <= 2",
    "§ >= 1",
    "§ < 1",
    "2 < §",
    "§ between 2 and 3",
    "§ in (1, 3)",
    "§ * 2 - 1 > amount",
    "not (§ > 2)",
    "amount < 3 or § > 2",
    "§ > metadata.a",
    "§ not_in (1, 2)",
];

#[test]
fn a_rewritten_rule_gives_what_the_old_one_gives_when_the_payment_counts_itself() -> anyhow::Result<()> {
    let mut dice = Dice::of_seed(1);
    let mut pairs = Vec::new();
    for (function, filter, test) in every_combination() {
        let aggregate = format!("{function}when {filter}, \"PT1H\")");
        let script = sample::rule(&format!("r{}", pairs.len()), &test.replace('§', &aggregate));
        pairs.push(pair(&script));
    }
    // Two aggregates in one test, each with its own condition.
    for (left, right) in [(1, 3), (3, 3), (2, 5), (0, 6)] {
        let ask = |n: usize| format!("count(when {}, \"PT1H\")", FILTERS[n]);
        pairs.push(pair(&sample::rule("two", &format!("{} > {} - 1", ask(left), ask(right)))));
    }
    let stream: Vec<Json> = (0..60).map(|n| payment(&mut dice, n)).collect();
    check(&pairs, &stream)
}

#[test]
fn so_do_generated_rules_that_only_count() -> anyhow::Result<()> {
    let mut n_rewritten = 0;
    for seed in 1..=proof::rounds(300, 20_000) as u64 {
        let batch = Batch::of_seed(seed);
        let scripts = batch.scripts.iter().filter(|script| {
            // Skip functions that Watch lacks, and those with rounding.
            !["distinct", "stddev", "previous_transaction", "sum", "avg"]
                .iter()
                .any(|word| script.contains(word))
        });
        let pairs: Vec<Pair> =
            scripts.map(|script| pair(script)).filter(|pair| !pair.is_left_to_a_person).collect();
        n_rewritten += pairs.iter().filter(|pair| pair.was != pair.is).count();
        check(&pairs, &batch.transactions)?;
    }
    println!("from Watch: {n_rewritten} generated rules rewritten, 0 differences");
    assert!(n_rewritten > 30, "{n_rewritten}");
    Ok(())
}

#[test]
fn check_prints_the_rewritten_rule_where_it_can_be_redirected() {
    let rule = "rule Burst {\n  when count(when currency == $current.currency, \"PT1H\") >= 3\n  then block score 1.0\n}\n";
    let home =
        Home::with_rules(&[("burst.ws", rule), ("plain.ws", "rule P { when amount > 1 then block }\n")]);
    let paths = ["burst.ws", "plain.ws"].map(|name| home.rules().join(name).display().to_string());
    let mut command = home.command(&["check", "--from-watch", &paths[0], &paths[1]]);
    let output = command.stdout(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), rule.replace(">= 3", ">= 2"));
    for part in ["burst.ws:2:8", "includes the payment itself", "plain.ws: unchanged"] {
        assert!(said.contains(part), "no {part:?} in:\n{said}");
    }
}

#[test]
fn the_page_for_users_of_watch_shows_what_check_prints() {
    let page = repository::read(&repository::root().join("docs/from-watch.md"));
    let blocks = |language: &str| -> Vec<String> {
        let fence = format!("```{language}\n");
        page.split(&fence).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
    };
    let (there, here) = (blocks("watch"), blocks("tollgate"));
    assert!(!there.is_empty() && there.len() == here.len(), "{} and {} examples", there.len(), here.len());
    for (there, here) in there.iter().zip(&here) {
        assert_eq!(rewritten_script(there).script.as_ref(), Some(here));
    }
}

/// A rule before and after conversion.
struct Pair {
    was: String,
    is: String,
    is_left_to_a_person: bool,
}

fn pair(script: &str) -> Pair {
    let RewrittenScript { remarks, script: rewritten } = rewritten_script(script);
    // The oracle reads `and` and `or` as the service does. Where Watch differs, the two rules are not comparable.
    let is_left_to_a_person =
        remarks.iter().any(|remark| remark.needs_a_person || remark.message.contains("left to right"));
    Pair { was: script.to_owned(), is: rewritten.unwrap_or_else(|| script.to_owned()), is_left_to_a_person }
}

fn rewritten_script(script: &str) -> RewrittenScript {
    rewrite_script(script, &CompileOptions::default())
        .unwrap_or_else(|| panic!("does not compile:\n{script}"))
}

#[track_caller]
fn check(pairs: &[Pair], stream: &[Json]) -> anyhow::Result<()> {
    let rules = |text: fn(&Pair) -> &str| -> Vec<CheckedRule> {
        pairs.iter().map(|pair| compile(text(pair), &CompileOptions::default()).rule.unwrap()).collect()
    };
    let (was, is) = (rules(|pair| &pair.was), rules(|pair| &pair.is));
    let expected = Oracle::counting_itself(generator::lists()).judge(&was, stream)?;
    let by_oracle = Oracle::new(generator::lists()).judge(&is, stream)?;
    let by_service = Live::new(Sandbox::new()?).judge(&is, stream)?;
    for (n, payment) in stream.iter().enumerate() {
        for (rule, pair) in pairs.iter().enumerate() {
            let answers = [&expected, &by_oracle, &by_service].map(|answers| answers[n][rule]);
            let about = format!("{}\n{}\npayment {n}: {payment}", pair.was, pair.is);
            assert!(answers == [answers[0]; 3], "expected, oracle, service: {answers:?}\n{about}");
        }
    }
    Ok(())
}

fn every_combination() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    FUNCTIONS.into_iter().flat_map(|function| {
        FILTERS
            .into_iter()
            .flat_map(move |filter| TESTS.into_iter().map(move |test| (function, filter, test)))
    })
}

/// Returns a payment whose sums and means are equal in decimals and in doubles.
fn payment(dice: &mut Dice, n: usize) -> Json {
    let mut payment = json!({
        "transaction_id": format!("t{n}"),
        "amount": 1 + dice.below(4),
        "currency": dice.pick(["EUR", "USD"]),
        "reference": "r",
        "created_at": format!("2026-03-01T{:02}:{:02}:00Z", 10 + dice.below(2), dice.below(60)),
    });
    for (field, values) in [
        ("source", [Some("a"), Some("b"), None]),
        ("destination", [Some("a"), Some("c"), None]),
        ("status", [Some("failed"), Some("applied"), None]),
    ] {
        if let Some(value) = dice.pick(values) {
            payment[field] = json!(value);
        }
    }
    match dice.below(6) {
        0 => payment["meta_data"] = json!({ "a": { "b": 1 } }),
        1 => payment["meta_data"] = json!({ "a": null }),
        2 => payment["meta_data"] = json!({ "a": "2" }),
        3 | 4 => payment["meta_data"] = json!({ "a": dice.below(4) }),
        _ => {}
    }
    payment
}
