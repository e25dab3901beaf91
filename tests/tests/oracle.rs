//! Modules with the real history agree with the oracle: single and fused, compiled and interpreted.

use serde_json::json;
use tollgate_engine::sandbox::Execution;
use tollgate_engine::sandbox::Sandbox;
use tollgate_tests::generator::{self, Batch};
use tollgate_tests::oracle::{self, Oracle, Subject};
use tollgate_tests::proof;
use tollgate_tests::subject::{Fused, Late, Live};

/// First seed.
const FIRST_SEED: u64 = 1;
/// First seed with long numbers.
const FIRST_SEED_OF_LONG_NUMBERS: u64 = 1 << 34;

#[test]
fn compiled_rules_say_what_the_oracle_says() -> anyhow::Result<()> {
    check(Batch::of_seed, FIRST_SEED)
}

#[test]
fn numbers_of_any_size_compare_as_the_oracle_compares_them() -> anyhow::Result<()> {
    check(Batch::with_long_numbers, FIRST_SEED_OF_LONG_NUMBERS)
}

#[test]
fn short_numbers_are_looked_for_exactly_in_a_list_of_the_transaction() -> anyhow::Result<()> {
    check_cases(|_| short_numbers_among_long_ones(), 1, 1)
}

/// Elements that equal the value, or only share its nearest double.
fn short_numbers_among_long_ones() -> Batch {
    let values = ["1000000000000000000", r"hour_of_day(timestamp)", r#"count(when amount >= 0, "P1D")"#];
    let tests = values.iter().flat_map(|value| [format!("{value} in"), format!("{value} not_in")]);
    let lists = [r#""$current.metadata.list""#, r#"("$current.metadata.list")"#];
    let conditions = tests.flat_map(|test| lists.map(|list| format!("{test} {list}")));
    let script = |(n, when)| format!("rule Exact_{n} {{ when {when} then review score 1 }}");
    let elements = [
        json!(1_000_000_000_000_000_000_i64),
        json!(1_000_000_000_000_000_001_i64),
        json!("1000000000000000000.000000000000000001"),
        json!(10),
        json!("10.00000000000000000001"),
        json!(1),
        json!("0.99999999999999999999"),
    ];
    let lists = elements.iter().flat_map(|element| [element.clone(), json!([element, "other"])]);
    let transaction = |(n, list)| {
        json!({
            "transaction_id": format!("t{n}"), "amount": 1, "currency": "EUR", "reference": "r",
            "created_at": format!("2026-03-01T10:00:{n:02}Z"), "meta_data": { "list": list },
        })
    };
    let transactions = (0_u32..).zip(lists).map(transaction).collect();
    Batch { scripts: (0_u32..).zip(conditions).map(script).collect(), transactions }
}

fn check(batch_of: fn(u64) -> Batch, first_seed: u64) -> anyhow::Result<()> {
    check_cases(batch_of, first_seed, proof::rounds(20_000, 1_000_000))
}

fn check_cases(batch_of: fn(u64) -> Batch, first_seed: u64, n_cases: usize) -> anyhow::Result<()> {
    let sandbox = Sandbox::new()?;
    let mut interpreted = Live::new(Sandbox::executing(Execution::Interpreted)?);
    let (mut live, mut late, mut fused) =
        (Live::new(sandbox.clone()), Late::new(sandbox.clone()), Fused::new(sandbox));
    let mut subjects: [(&str, &mut dyn Subject); 4] =
        [("live", &mut live), ("late", &mut late), ("fused", &mut fused), ("interpreted", &mut interpreted)];
    let report =
        oracle::run(&mut Oracle::new(generator::lists()), &mut subjects, batch_of, first_seed, n_cases)?;
    println!("oracle: {} cases, {} differences", report.n_cases, report.n_differences);
    assert!(report.described.is_empty(), "{}", report.described.join("\n"));
    assert_eq!(report.n_differences, 0);
    // A generator whose rules always or never match would prove nothing.
    let (n_cases, n_matches) = (report.n_cases, report.n_matches);
    assert!((n_cases / 10..n_cases * 9 / 10).contains(&n_matches), "{n_matches} matches");
    Ok(())
}
