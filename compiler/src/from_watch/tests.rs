//! Migration tests: rules of Watch and their equivalents.

use super::*;

fn rule(condition: &str) -> String {
    format!("rule R {{ when {condition} then review }}")
}

/// `expected` is the rewritten condition, or empty when the rule is unchanged.
#[track_caller]
fn check(condition: &str, expected: &str) -> Vec<WatchDifference> {
    let script = rule(condition);
    let rewritten_script = rewrite_script(&script, &CompileOptions::default()).expect("the rule compiles");
    let expected = (!expected.is_empty()).then(|| rule(expected));
    assert_eq!(rewritten_script.script, expected, "{:#?}", rewritten_script.remarks);
    rewritten_script.remarks
}

/// Asserts that a remark contains `words`.
#[track_caller]
fn check_remark(condition: &str, words: &str, needs_a_person: bool) {
    let remarks =
        rewrite_script(&rule(condition), &CompileOptions::default()).expect("the rule compiles").remarks;
    let is_said = remarks
        .iter()
        .any(|remark| remark.message.contains(words) && remark.needs_a_person == needs_a_person);
    assert!(is_said, "no {words:?} in {remarks:#?}");
}

#[test]
fn a_key_that_is_no_name_stays_in_quotation_marks() {
    let by_device = r#"metadata."device-id" == $current.metadata."device-id""#;
    let script = rule(&format!(r#"count(when source == $current.source or {by_device}, "PT1H") >= 3"#));
    let rewritten_script = rewrite_script(&script, &CompileOptions::default()).expect("the rule compiles");
    let rewritten = rewritten_script.script.expect("the rule is rewritten");
    assert!(rewritten.contains(r#"(metadata."device-id" in ("") or"#), "{rewritten}");
}

const BY_CURRENCY: &str = r#"count(when currency == $current.currency, "PT1H")"#;
const BY_SOURCE: &str = r#"count(when source == $current.source, "PT1H")"#;

#[test]
fn a_count_that_includes_the_payment_is_compared_with_one_less() {
    for (operator, literal, less) in [
        (">=", "3", "2"),
        (">", "3", "2"),
        ("==", "3", "2"),
        ("!=", "3", "2"),
        ("<", "3", "2"),
        ("<=", "3", "2"),
        (">", "03", "2"),
        ("==", "1", "0"),
    ] {
        check(&format!("{BY_CURRENCY} {operator} {literal}"), &format!("{BY_CURRENCY} {operator} {less}"));
        check(&format!("{literal} {operator} {BY_CURRENCY}"), &format!("{less} {operator} {BY_CURRENCY}"));
    }
    check(&format!("({BY_CURRENCY}) > 3"), &format!("({BY_CURRENCY}) > 2"));
    check(&format!("not ({BY_CURRENCY} > 3)"), &format!("not ({BY_CURRENCY} > 2)"));
    check(&format!("{BY_CURRENCY} between 2 and 5"), &format!("{BY_CURRENCY} between 1 and 4"));
}

#[test]
fn where_no_literal_stands_beside_it_the_count_is_one_more() {
    check(&format!("{BY_CURRENCY} > 2.5"), &format!("{BY_CURRENCY} + 1 > 2.5"));
    check(&format!("{BY_CURRENCY} > amount"), &format!("{BY_CURRENCY} + 1 > amount"));
    check(&format!("{BY_CURRENCY} * 2 > 7"), &format!("({BY_CURRENCY} + 1) * 2 > 7"));
    check(&format!("{BY_CURRENCY} in (2, 4)"), &format!("{BY_CURRENCY} + 1 in (2, 4)"));
    check(&format!("{BY_CURRENCY} not_in (2, 4)"), &format!("{BY_CURRENCY} + 1 not_in (2, 4)"));
    check(&format!("{BY_CURRENCY} between 2 and amount"), &format!("{BY_CURRENCY} + 1 between 2 and amount"));
    check(&format!("{BY_CURRENCY} > -1"), &format!("{BY_CURRENCY} + 1 > -1"));
}

#[test]
fn a_payment_without_the_field_of_the_filter_counts_nothing() {
    // A count of 0 and of 1 give the same result, so it does not matter whether the payment has a source.
    check(&format!("{BY_SOURCE} >= 3"), &format!("{BY_SOURCE} >= 2"));
    check(&format!("{BY_SOURCE} < 3"), &format!("{BY_SOURCE} < 2"));
    // Here they give different results.
    check(&format!("{BY_SOURCE} >= 1"), &format!("(source != \"\" and {BY_SOURCE} >= 0)"));
    check(&format!("{BY_SOURCE} < 1"), &format!("(not (source != \"\") or {BY_SOURCE} < 0)"));
    check(
        &format!("{BY_SOURCE} in (1, 2)"),
        &format!(
            "((source != \"\" and {BY_SOURCE} + 1 in (1, 2)) or (not (source != \"\") and {BY_SOURCE} in (1, 2)))"
        ),
    );
}

#[test]
fn where_the_payment_may_fail_the_filter_both_cases_are_written() {
    let failed = r#"count(when source == $current.source and status == "failed", "PT1H")"#;
    check(
        &format!("{failed} >= 3"),
        &format!(
            r#"((source != "" and status == "failed" and {failed} >= 2) or (not (source != "" and status == "failed") and {failed} >= 3))"#
        ),
    );
    let either = r#"count(when status == "a" or status == "b", "PT1H")"#;
    check(
        &format!("{either} > 1"),
        &format!(
            r#"(((status == "a" or status == "b") and {either} > 0) or (not ((status == "a" or status == "b")) and {either} > 1))"#
        ),
    );
}

#[test]
fn a_payment_that_never_satisfies_the_filter_changes_nothing() {
    check(r#"count(when transaction_id != $current.transaction_id, "PT1H") > 3"#, "");
    check(r#"count(when source == $current.source and created_at < $current.timestamp, "PT1H") > 3"#, "");
}

#[test]
fn sums_means_and_extremes_include_the_amount_of_the_payment() {
    let sum = r#"sum(amount when source == $current.source, "PT1H")"#;
    check(&format!("{sum} > 3000"), &format!("(source != \"\" and {sum} + amount > 3000)"));
    check(
        r#"sum(when currency == $current.currency, "P1D") > 9"#,
        r#"sum(when currency == $current.currency, "P1D") + amount > 9"#,
    );
    check(
        r#"avg(when currency == $current.currency, "P1D") > 9"#,
        r#"(sum(when currency == $current.currency, "P1D") + amount) / (count(when currency == $current.currency, "P1D") + 1) > 9"#,
    );
    let least = r#"min(when currency == $current.currency, "P1D")"#;
    let is_it = r#"(count(when currency == $current.currency, "P1D") == 0 or amount <= min(when currency == $current.currency, "P1D"))"#;
    check(&format!("{least} < 9"), &format!("(({is_it} and amount < 9) or (not ({is_it}) and {least} < 9))"));
}

#[test]
fn a_difference_that_needs_a_person_is_marked_so() {
    check_remark(
        r#"sum(metadata.fee when source == $current.source, "P1D") > 9"#,
        "Watch used `amount` here",
        true,
    );
    check_remark(r#"count(when amount > 9, "P1D") > 9"#, "`>` was `==`", true);
    check_remark(
        r#"count(when status == "a", "P1D") + count(when status == "b", "P1D") + count(when status == "c", "P1D") > 9"#,
        "each under a different condition",
        true,
    );
}

#[test]
fn joined_tests_are_read_from_left_to_right() {
    check("amount > 1 or amount > 2 and amount > 3", "(amount > 1 or amount > 2) and amount > 3");
    check("amount > 1 and amount > 2 or amount > 3", "");
    check(
        &format!("amount > 1 or amount > 2 and {BY_CURRENCY} > 3 or amount > 4 and amount > 5"),
        &format!("(((amount > 1 or amount > 2) and {BY_CURRENCY} > 2) or amount > 4) and amount > 5"),
    );
}

#[test]
fn a_condition_that_never_fired_in_watch_gets_a_remark() {
    for (condition, words) in [
        (r#"metadata.kyc == 1"#, "only under `meta_data`"),
        (r#"status == "failed""#, "did not keep `status`"),
        ("hour_of_day(timestamp) > 3", "only as `created_at`"),
        ("source in $blocked", "no named lists"),
        ("source == destination", "the text \"destination\""),
        (r#"count(when status == "a", "PT1H") > 1"#, "no column `status`"),
        (r#"count(when source == $current.metadata.payer, "PT1H") > 1"#, "only under `meta_data`"),
        (r#"count(when source == $current.source, "PT1H30M") > 1"#, "more than one unit"),
        (r#"amount > 5 or count(when source == $current.source, "PT1H") > 1"#, "beside an `or`"),
        (
            r#"previous_transaction(within: "PT1H", match: { status: "failed", source: $current.source })"#,
            "ignored the pair with `status`",
        ),
        (r#"distinct(destination when source == $current.source, "PT1H") > 1"#, "has no `distinct`"),
    ] {
        check_remark(condition, words, false);
    }
}

#[test]
fn a_rule_that_means_the_same_has_no_remark() {
    for condition in [
        "amount > 10000",
        r#"meta_data.mcc in ("7995", "5912") and amount > 5"#,
        r#"previous_transaction(within: "PT1H", match: { source: $current.source, meta_data.status: "failed" })"#,
        "hour_of_day(created_at) >= 21",
    ] {
        assert_eq!(check(condition, ""), [], "{condition}");
    }
}

#[test]
fn comments_blanks_and_marks_stay_where_they_are() {
    let script = "\u{feff}# ours\nrule R {\n  when count( when currency == $current.currency , # why\n \"PT1H\" )  >=  3 // three\n  then block\n}\n";
    let rewritten_script = rewrite_script(script, &CompileOptions::default()).expect("the rule compiles");
    assert_eq!(rewritten_script.script, Some(script.replace(">=  3", ">=  2")));
    assert_eq!(
        rewritten_script.remarks.first().map(|remark| (remark.position.line, remark.position.column)),
        Some((3, 8))
    );
}

#[test]
fn a_rewritten_rule_over_a_limit_is_left_to_its_author() {
    let test = |n: usize| format!("min(when currency == \"{n}\", \"P1D\") > 2");
    let tests: Vec<String> = (0..9).map(test).collect();
    let condition = tests.join(" and ");
    check(&condition, "");
    check_remark(&condition, "exceeds a limit of the compiler", true);
}

#[test]
fn a_script_with_errors_is_not_looked_at() {
    assert_eq!(rewrite_script("rule R { when nonsense then review }", &CompileOptions::default()), None);
}
