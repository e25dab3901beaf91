//! Patterns of rules, compiled by a linear-time engine within fixed limits.
//!
//! The time of a search is linear in the product of pattern size and text length. Both are bounded, so the worst-case
//! cost is known. Small patterns on the same short text can be searched together.

mod price;
mod set;

use regex::{Regex, RegexBuilder};
use tollgate_guest_abi::limits::{
    PATTERN_BYTES_MAX, PATTERN_COMPILED_BYTES_MAX, PATTERN_HAYSTACK_BYTES_MAX, PATTERN_NESTING_MAX,
};

use crate::transaction::Value;

pub use set::PatternSet;

use price::SearchPrice;

/// The longest text of a number, a boolean or a date-time of a transaction, in bytes.
pub const SCALAR_BYTES_MAX: usize = 64;
/// The longest plain decimal text of a double: a sign, a zero, a point and 325 digits.
pub const NUMBER_BYTES_MAX: usize = 328;

/// A compiled pattern: unanchored, and case-sensitive unless it contains `(?i)`.
#[derive(Debug, Clone)]
pub struct CompiledPattern {
    regex: Regex,
    weight: usize,
    price: SearchPrice,
}

/// Limits on the compiled size, and the maximum cost per byte before there were prices, relative to the smallest.
const WEIGHTS: [(usize, usize); 4] =
    [(32 * 1024, 1), (128 * 1024, 4), (512 * 1024, 16), (PATTERN_COMPILED_BYTES_MAX, 32)];

/// A reason why a text is not a valid pattern.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PatternError {
    /// The pattern exceeds the length limit.
    #[error("a pattern has at most {PATTERN_BYTES_MAX} bytes, this one has {0}")]
    TooLong(usize),
    /// The engine refuses the pattern: malformed, nested too deeply, too large when compiled, or using look-around.
    #[error("the pattern `{pattern}` is refused")]
    Refused {
        /// Pattern as written.
        pattern: String,
        /// Error of the engine.
        source: Box<regex::Error>,
    },
}

impl PatternError {
    fn refused(pattern: &str, source: regex::Error) -> Self {
        Self::Refused { pattern: pattern.to_owned(), source: Box::new(source) }
    }
}

impl CompiledPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// If the pattern is too long or the engine refuses it.
    pub fn compile(pattern: &str) -> Result<Self, PatternError> {
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(PatternError::TooLong(pattern.len()));
        }
        let within = |size: usize| {
            RegexBuilder::new(pattern)
                .size_limit(size)
                .dfa_size_limit(PATTERN_COMPILED_BYTES_MAX)
                .nest_limit(PATTERN_NESTING_MAX)
                .build()
        };
        let mut refused = None;
        for (size, weight) in WEIGHTS {
            match within(size) {
                Ok(regex) => return Ok(Self { regex, weight, price: SearchPrice::of_pattern(pattern) }),
                Err(error @ regex::Error::CompiledTooBig(_)) => refused = Some(error),
                Err(error) => return Err(PatternError::refused(pattern, error)),
            }
        }
        let too_big = regex::Error::CompiledTooBig(PATTERN_COMPILED_BYTES_MAX);
        Err(PatternError::refused(pattern, refused.unwrap_or(too_big)))
    }

    /// Returns the cost per byte of a search, relative to a small pattern. The worst case grows with the pattern.
    #[must_use]
    pub const fn weight(&self) -> usize {
        self.weight
    }

    /// Returns the price of searching a value, in fuel.
    #[must_use]
    pub fn price_of(&self, value: &Value<'_>) -> u64 {
        match value {
            Value::Text(text) => self.price.of_text(searched(text)),
            Value::Caseless(text) => self.price.of_text(searched(text.sent)),
            Value::Number(_) | Value::Boolean(_) | Value::Time(_) => self.price.of_ascii(SCALAR_BYTES_MAX),
            Value::Missing | Value::List(_) | Value::Object(_) => 0,
        }
    }

    /// Returns the price of searching the plain decimal text of any computed number, in fuel.
    #[must_use]
    pub const fn price_of_number(&self) -> u64 {
        self.price.of_ascii(NUMBER_BYTES_MAX)
    }

    /// Returns the most that a search can cost for each byte of a text, in fuel.
    #[must_use]
    pub const fn price_per_byte(&self) -> u64 {
        self.price.per_byte()
    }

    /// Returns whether the pattern matches a value: a text, a plain decimal number, a boolean word, or a date-time as
    /// given. Returns `None` for a missing value, and `false` for a structure.
    #[must_use]
    pub fn search(&self, value: &Value<'_>) -> Option<bool> {
        match value {
            Value::Missing => None,
            Value::Text(text) => Some(self.is_in(text)),
            Value::Caseless(text) => Some(self.is_in(text.sent)),
            _ => Some(value.as_searchable().is_some_and(|text| self.is_in(&text))),
        }
    }

    /// Returns whether the pattern matches the plain decimal text of a computed number. Returns `None` for NaN, and
    /// `false` for an infinity.
    #[must_use]
    pub fn search_number(&self, number: f64) -> Option<bool> {
        if number.is_nan() {
            return None;
        }
        // Adding zero normalizes negative zero.
        Some(number.is_finite() && self.is_in(&(number + 0.0).to_string()))
    }

    fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(searched(text))
    }
}

/// Returns the part of a text that is searched.
fn searched(text: &str) -> &str {
    let end = text.floor_char_boundary(PATTERN_HAYSTACK_BYTES_MAX);
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::Decimal;

    #[track_caller]
    fn check(pattern: &str, value: Value<'_>, expected: Option<bool>) {
        assert_eq!(
            CompiledPattern::compile(pattern).unwrap().search(&value),
            expected,
            "{pattern} {value:?}"
        );
    }

    #[test]
    fn a_search_is_unanchored_and_minds_case() {
        check("urg", Value::Text("an urgent one"), Some(true));
        check("URG", Value::Text("an urgent one"), Some(false));
        check("(?i)URG", Value::Text("an urgent one"), Some(true));
        check("^urg", Value::Text("an urgent one"), Some(false));
    }

    #[test]
    fn a_number_is_searched_as_its_plain_decimal_text() {
        check(r"^1000$", Value::Number(Decimal::from_json("1e3").unwrap()), Some(true));
        check(r"^1\.5$", Value::Number(Decimal::from_json("1.50").unwrap()), Some(true));
        let pattern = CompiledPattern::compile(r"^-?[0-9]+(\.[0-9]+)?$").unwrap();
        for number in [0.0, -0.0, 1e21, 1e300, 1e-7, -12.5] {
            assert_eq!(pattern.search_number(number), Some(true), "{number}");
        }
        assert_eq!(CompiledPattern::compile("^0$").unwrap().search_number(-0.0), Some(true));
        assert_eq!(CompiledPattern::compile("inf").unwrap().search_number(f64::INFINITY), Some(false));
        assert_eq!(pattern.search_number(f64::NAN), None);
    }

    #[test]
    fn a_missing_value_is_not_searched_and_a_structure_never_matches() {
        check("", Value::Missing, None);
        check("", Value::List(&[]), Some(false));
        check("^true$", Value::Boolean(true), Some(true));
    }

    #[test]
    fn a_long_text_is_searched_up_to_the_limit_and_never_cut_inside_a_character() {
        let mut text = "ä".repeat(PATTERN_HAYSTACK_BYTES_MAX / 2 - 1);
        text.push('x');
        text.push('ä');
        assert_eq!(text.len(), PATTERN_HAYSTACK_BYTES_MAX + 1);
        check("x$", Value::Text(&text), Some(true));
        let beyond = format!("{}needle", "y".repeat(PATTERN_HAYSTACK_BYTES_MAX));
        check("needle", Value::Text(&beyond), Some(false));
    }

    #[test]
    fn an_invalid_or_costly_pattern_is_refused() {
        for pattern in ["(", "(?=a)", r"(a)\1", "(?:(?:a{1000}){1000}){1000}", &"(".repeat(100)] {
            assert!(
                matches!(CompiledPattern::compile(pattern), Err(PatternError::Refused { .. })),
                "{pattern}"
            );
        }
        let nested = format!("{}a{}", "(".repeat(70), ")".repeat(70));
        assert!(matches!(CompiledPattern::compile(&nested), Err(PatternError::Refused { .. })));
        assert_eq!(CompiledPattern::compile(&"a".repeat(1025)).unwrap_err(), PatternError::TooLong(1025));
    }
}
