//! Tests of modules with state, with their own score and reason, and with excessive calls.

use tollgate_guest_abi::prices;

use super::*;

fn with_memory(body: &str) -> String {
    format!(
        r#"(import "tollgate" "text" (func $text (param i32 i32 i32) (result i32)))
        (import "tollgate" "set_score" (func $set_score (param i32 f64)))
        (import "tollgate" "set_reason" (func $set_reason (param i32 i32 i32)))
        (import "tollgate" "aggregate" (func $aggregate (param i32) (result f64)))
        (memory (export "memory") 1 16)
        (global $calls (mut i64) (i64.const 0))
        (table 1 funcref)
        (data (i32.const 0) "a reason\1b[31m")
        (func (export "evaluate") (result i64) {body})"#
    )
}

#[track_caller]
fn check_bits(body: &str, expected: Result<u64, RuleFailure>) {
    check_run(&with_memory(body), expected);
}

#[track_caller]
fn check_statement(body: &str, score: Option<f64>, reason: Option<&str>) {
    let said = RuleStatement { score, reason: reason.map(str::to_owned) };
    let body = format!("{body} (i64.const 1)");
    check_said(&with_memory(&body), &Ok((1, said)));
}

#[test]
fn nothing_is_left_from_one_run_for_the_next() {
    check_bits("(global.set $calls (i64.add (global.get $calls) (i64.const 1))) (global.get $calls)", Ok(1));
    let counts = "(i64.store (i32.const 64) (i64.add (i64.load (i32.const 64)) (i64.const 1)))
        (i64.load (i32.const 64))";
    check_bits(counts, Ok(1));
    check_bits(
        "(memory.grow (i32.const 1)) drop (i64.extend_i32_u (i32.sub (memory.size) (i32.const 1)))",
        Ok(1),
    );
}

#[test]
fn a_text_is_copied_by_whole_characters() {
    let copy = |capacity: u32| format!("(call $text (i32.const 0) (i32.const 100) (i32.const {capacity}))");
    // `größer` has 8 bytes: g r ö(2) ß(2) e r.
    check_bits(&format!("(i64.eq (i64.extend_i32_s {}) (i64.const 8)) i64.extend_i32_u", copy(8)), Ok(1));
    let third = "(i64.extend_i32_u (i32.load8_u (i32.const 102)))";
    let read = |capacity| format!("{} drop (i64.eqz {third}) i64.extend_i32_u", copy(capacity));
    check_bits(&read(3), Ok(1));
    check_bits(&read(4), Ok(0));
    check_bits(
        "(i64.extend_i32_u (i32.eq (i32.const -1) (call $text (i32.const 1) (i32.const 0) (i32.const 9))))",
        Ok(1),
    );
}

#[test]
fn a_text_that_would_leave_the_memory_is_not_copied() {
    for (pointer, capacity) in [("65536", "1"), ("65530", "8"), ("-1", "1"), ("0", "-1"), ("-1", "-1")] {
        let body = format!(
            "(call $text (i32.const 0) (i32.const {pointer}) (i32.const {capacity})) drop (i64.const 1)"
        );
        check_bits(&body, Err(RuleFailure::Memory));
    }
    check_bits(
        "(call $text (i32.const 9) (i32.const 0) (i32.const 9)) drop (i64.const 1)",
        Err(RuleFailure::HostCall),
    );
}

#[test]
fn a_match_has_a_score_and_a_reason_of_its_own() {
    let score = |score: &str| format!("(call $set_score (i32.const 0) (f64.const {score}))");
    check_statement(&score("0.25"), Some(0.25), None);
    check_statement(&score("7"), Some(1.0), None);
    check_statement(&score("-0.0"), Some(0.0), None);
    check_statement(&score("-3"), Some(0.0), None);
    let reason = "(call $set_reason (i32.const 0) (i32.const 0) (i32.const 13))";
    check_statement(reason, None, Some("a reason\u{fffd}[31m"));
    check_statement("(call $set_reason (i32.const 0) (i32.const 65536) (i32.const 0))", None, Some(""));
}

#[test]
fn a_lie_about_a_match_is_no_answer() {
    let lies = [
        "(call $set_score (i32.const 0) (f64.const nan))",
        "(call $set_score (i32.const 0) (f64.const inf))",
        "(call $set_score (i32.const 0) (f64.const -inf))",
        "(call $set_reason (i32.const 0) (i32.const 65530) (i32.const 7))",
        "(call $set_reason (i32.const 0) (i32.const -1) (i32.const 1))",
        "(call $set_reason (i32.const 0) (i32.const 0) (i32.const -1))",
        "(call $set_reason (i32.const 0) (i32.const 0) (i32.const 1025))",
        "(i32.store8 (i32.const 0) (i32.const 255)) (call $set_reason (i32.const 0) (i32.const 0) (i32.const 1))",
    ];
    for lie in lies {
        check_bits(&format!("{lie} (i64.const 1)"), Err(RuleFailure::InvalidOutput));
    }
    check_bits("(i64.const 2)", Err(RuleFailure::InvalidOutput));
    check_bits("(i64.const -1)", Err(RuleFailure::InvalidOutput));
    check_bits("(call $set_score (i32.const 1) (f64.const 0)) (i64.const 1)", Err(RuleFailure::HostCall));
}

#[test]
fn memory_and_tables_grow_no_further_than_they_may() {
    check_bits(
        "(loop $l (drop (memory.grow (i32.const 1))) (br $l)) (i64.const 0)",
        Err(RuleFailure::Memory),
    );
    check_bits("(loop $l (drop (memory.grow (i32.const 0))) (br $l)) (i64.const 0)", Err(RuleFailure::Fuel));
    let unbounded = r#"(memory (export "memory") 1) (func (export "evaluate") (result i64)
        (i64.extend_i32_s (memory.grow (i32.const 16))))"#;
    check_run(unbounded, Err(RuleFailure::Memory));
    let table = r#"(table $t 1 funcref) (func (export "evaluate") (result i64)
        (i64.extend_i32_s (table.grow $t (ref.null func) (i32.const 1024))))"#;
    check_refused(&format!("(module {table})"), "features: ");
    check_bits("(i64.load (i32.const 65536))", Err(RuleFailure::Memory));
}

#[test]
fn calls_to_the_host_are_counted_and_cost_fuel() {
    let flood = "(loop $l (drop (call $number (i32.const 0))) (br $l)) (i64.const 0)";
    check_bits(flood, Err(RuleFailure::HostCallLimit));
    let dear = "(loop $l (drop (call $aggregate (i32.const 0))) (br $l)) (i64.const 0)";
    check_bits(dear, Err(RuleFailure::Fuel));
}

#[test]
fn a_bulk_of_bytes_costs_fuel_by_its_size() {
    let fill = "(loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br $l)) (i64.const 0)";
    check_bits(fill, Err(RuleFailure::Fuel));
    let copy = "(loop $l (memory.copy (i32.const 0) (i32.const 1) (i32.const 65535)) (br $l)) (i64.const 0)";
    check_bits(copy, Err(RuleFailure::Fuel));
}

#[test]
fn a_module_pays_for_its_instance_and_its_memory() {
    let (few, many) = (prices::INSTANCE, prices::MEMORY_PAGE);
    let body = |declared: u32, grown: u32| {
        format!(
            r#"(memory (export "memory") {declared}) (func (export "evaluate") (result i64)
                (drop (memory.grow (i32.const {grown}))) (i64.const 1))"#
        )
    };
    check_price(
        r#"(global $n (mut i32) (i32.const 0)) (func (export "evaluate") (result i64) (i64.const 1))"#,
        few,
    );
    check_price(&body(0, 0), few);
    check_price(&body(1, 0), few + many);
    check_price(&body(1, 15), few + 16 * many);
    check_price(&body(16, 0), few + 16 * many);
    check_price(&body(16, 2), few + 18 * many);
}
