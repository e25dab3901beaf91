//! Lower-cases texts that are compared with a field whose case is ignored: a `status` since
//! [`Semantics::V3`](tollgate_guest_abi::Semantics::V3), and a `currency` and a `stage` since
//! [`Semantics::V5`](tollgate_guest_abi::Semantics::V5).

use tollgate_guest_abi::{Condition, FieldPath, Item, ListSource, Operand, PreviousSpec};

/// Lower-cases every text that a test compares with such a field. The field itself is unchanged, and patterns search it
/// as it was sent. The tests in the filter of an aggregate are converted separately.
pub(super) fn in_small_letters(condition: &mut Condition) {
    match condition {
        Condition::Compare { left, right, .. } => {
            beside(left, right);
            beside(right, left);
        }
        Condition::In { value, list, .. } => {
            if let (true, ListSource::Items(items)) = (is_caseless(value), list) {
                items.iter_mut().for_each(item);
            }
        }
        Condition::Previous(PreviousSpec { pairs, .. }) => {
            for pair in pairs.iter_mut().filter(|pair| is_caseless_field(&pair.field)) {
                item(&mut pair.value);
            }
        }
        Condition::Matches { .. } | Condition::All(_) | Condition::Any(_) | Condition::Not(_) => {}
    }
}

fn beside(operand: &Operand, other: &mut Operand) {
    if let (true, Operand::Text(text)) = (is_caseless(operand), other) {
        text.make_ascii_lowercase();
    }
}

fn item(item: &mut Item) {
    if let Item::Text(text) = item {
        text.make_ascii_lowercase();
    }
}

fn is_caseless(operand: &Operand) -> bool {
    matches!(operand, Operand::Field(path) | Operand::Current(path) if is_caseless_field(path))
}

fn is_caseless_field(path: &FieldPath) -> bool {
    path.is_status() || path.is_currency() || path.is_stage()
}

#[cfg(test)]
mod tests {
    use tollgate_guest_abi::Condition;

    use crate::{Code, CompileOptions, compile};

    fn condition(written: &str) -> (Condition, Vec<Code>) {
        let script = format!("rule r {{ when {written} then review }}");
        let compilation = compile(&script, &CompileOptions::default());
        let codes = compilation.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
        (compilation.rule.unwrap().when, codes)
    }

    #[track_caller]
    fn check(written: &str, meant: &str) {
        assert_eq!(condition(written).0, condition(meant).0, "{written}");
    }

    #[test]
    fn texts_beside_a_status_or_a_currency_are_in_small_letters_and_no_others() {
        check(r#"status == "APPLIED""#, r#"status == "applied""#);
        check(r#"not ("Applied" != status)"#, r#"not ("applied" != status)"#);
        check(r#"currency in ("USD", "EUR")"#, r#"currency in ("usd", "eur")"#);
        check(r#"status in ("VOID", 1, "Ä")"#, r#"status in ("void", 1, "Ä")"#);
        check(
            r#"2 * count(when $current.status == "VOID" and source == "A", "P1D") > 1"#,
            r#"2 * count(when $current.status == "void" and source == "A", "P1D") > 1"#,
        );
        check(
            r#"previous_transaction(within: "P1D", match: { status: "VOID", source: "A" })"#,
            r#"previous_transaction(within: "P1D", match: { status: "void", source: "A" })"#,
        );
        let (kept, _) = condition(
            r#"status regex "VOID" and metadata.status == "VOID" and currency regex "VOID" and source == "VOID""#,
        );
        assert_eq!(format!("{kept:?}").matches("VOID").count(), 4, "{kept:?}");
    }

    #[test]
    fn words_that_differ_in_case_alone_are_one_to_the_warnings() {
        assert_eq!(condition(r#"status == "applied" and status == "void""#).1, [Code::NeverTrue]);
        assert_eq!(condition(r#"status == "applied" or status == "APPLIED""#).1, [Code::RepeatedCondition]);
        assert_eq!(condition(r#"currency == "USD" or currency == "usd""#).1, [Code::RepeatedCondition]);
        assert_eq!(condition(r#"status != "applied" or status != "void""#).1, [Code::AlwaysTrue]);
        assert_eq!(condition(r#"status != "applied" or status != "APPLIED""#).1, [Code::RepeatedCondition]);
    }
}
