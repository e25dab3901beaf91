//! Aggregate functions over the values of rows. Every function of no values is 0.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero as _;
use serde_json::Value as Json;

use super::exact;
use super::value::Value;

/// Returns the numbers among the values, exactly. Texts never count as numbers.
pub(super) fn numbers<'a>(values: impl Iterator<Item = Value<'a>>) -> Vec<BigRational> {
    values
        .filter_map(|value| match value {
            Value::Number(number) => exact::parse(&number.to_string()),
            _ => None,
        })
        .collect()
}

pub(super) fn sum(numbers: &[BigRational]) -> BigRational {
    numbers.iter().sum()
}

pub(super) fn mean(numbers: &[BigRational]) -> f64 {
    exact_mean(numbers).map_or(0.0, |mean| exact::nearest(&mean))
}

pub(super) fn least(numbers: &[BigRational]) -> BigRational {
    numbers.iter().min().cloned().unwrap_or_default()
}

pub(super) fn most(numbers: &[BigRational]) -> BigRational {
    numbers.iter().max().cloned().unwrap_or_default()
}

/// Returns the sample standard deviation: the root of the double nearest to the exact variance. It is 0 for fewer than
/// two numbers.
pub(super) fn deviation(numbers: &[BigRational]) -> f64 {
    let Some(mean) = exact_mean(numbers) else { return 0.0 };
    if numbers.len() < 2 {
        return 0.0;
    }
    let mut squares = BigRational::zero();
    for number in numbers {
        let off = number - &mean;
        squares += &off * &off;
    }
    exact::nearest(&(squares / BigRational::from(BigInt::from(numbers.len() - 1)))).sqrt()
}

fn exact_mean(numbers: &[BigRational]) -> Option<BigRational> {
    let total: BigRational = numbers.iter().sum();
    (!numbers.is_empty()).then(|| total / BigRational::from(BigInt::from(numbers.len())))
}

/// Counts distinct values. Numbers compare by value, texts exactly, date-times by instant, structures recursively. A
/// number that some text states counts as one with that text.
pub(super) fn n_distinct<'a>(values: impl Iterator<Item = Value<'a>>) -> usize {
    let values: Vec<Value<'_>> = values.collect();
    let texts: Vec<BigRational> = values
        .iter()
        .filter_map(|value| match value {
            Value::Text(text) if exact::is_plain(text) => exact::parse(text),
            Value::Caseless(text) if exact::is_plain(text.compared) => exact::parse(text.compared),
            _ => None,
        })
        .collect();
    let is_stated = |value: &Value<'_>| match value {
        Value::Number(number) => exact::parse(&number.to_string()).is_some_and(|it| texts.contains(&it)),
        _ => false,
    };
    values.into_iter().filter(|value| !is_stated(value)).filter_map(signature).collect::<BTreeSet<_>>().len()
}

/// Returns a text that is equal for exactly the values that are equal.
fn signature(value: Value<'_>) -> Option<String> {
    Some(match value {
        Value::Nil => return None,
        Value::Boolean(boolean) => format!("boolean {boolean}"),
        Value::Number(number) => format!("number {}", exact::plain_text(&number.to_string())?),
        Value::Exact(number) => format!("number {number}"),
        Value::Computed(number) => format!("number {number}"),
        Value::Text(text) => format!("text {text}"),
        Value::Caseless(text) => format!("text {}", text.compared.to_ascii_lowercase()),
        Value::Time(micros, _) => format!("time {micros}"),
        Value::List(items) => format!("list {}", signatures(items)),
        Value::Object(json) => format!("object {}", structure(json)),
    })
}

fn structure(json: &Json) -> String {
    let Json::Object(entries) = json else {
        return signature(Value::of_json(json)).unwrap_or_default();
    };
    // Quoting prevents ambiguity between keys and delimiters; sorting ignores the order of members.
    let entries: BTreeSet<String> =
        entries.iter().map(|(key, value)| format!("{key:?}: {:?}", structure(value))).collect();
    format!("{entries:?}")
}

fn signatures(items: &[Json]) -> String {
    let items: Vec<String> = items.iter().map(structure).collect();
    format!("{items:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(texts: &[&str]) -> Vec<BigRational> {
        texts.iter().map(|text| exact::parse(text).unwrap()).collect()
    }

    #[test]
    fn every_function_of_nothing_is_zero() {
        for function in [sum, least, most] {
            assert!(function(&[]).is_zero());
        }
        for function in [mean, deviation] {
            assert_eq!(function(&[]), 0.0);
        }
        assert_eq!(deviation(&exactly(&["5"])), 0.0);
    }

    #[test]
    fn a_sample_of_two() {
        let numbers = exactly(&["1", "2.5"]);
        assert_eq!(
            [sum, least, most].map(|function| function(&numbers)).to_vec(),
            exactly(&["3.5", "1", "2.5"])
        );
        assert_eq!([mean, deviation].map(|function| function(&numbers)), [1.75, 1.125_f64.sqrt()]);
    }

    #[test]
    fn values_of_different_kinds_are_different_except_a_number_and_its_text() {
        let json: Vec<Json> = serde_json::from_str(
            r#"[1, 1.0, "1", true, "true", null, [1], [1.0], ["1"], {"a": 1, "b": 2}, {"b": 2, "a": 1.0}, {}]"#,
        )
        .unwrap();
        assert_eq!(n_distinct(json.iter().map(Value::of_json)), 7);
    }
}
