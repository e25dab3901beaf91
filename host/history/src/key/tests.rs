//! Keys are equal when their values are, and survive a round trip through their bytes.

use tollgate_model::transaction::relate;

use super::*;
use crate::sample::Sample;

const ALL: [Semantics; 4] = [Semantics::V1, Semantics::V2, Semantics::V3, Semantics::V5];

fn key(values: &[Value<'_>], semantics: Semantics) -> Option<Key> {
    let mut key = Key::default();
    let of = Sample::default().build();
    key.fill(values, |key, value| key.add(value, semantics, &of)).map(|()| key)
}

/// Returns every pair of values, under all semantics.
fn pairs() -> impl Iterator<Item = (Value<'static>, Value<'static>, Semantics)> {
    let all = || all_kinds().into_iter();
    all().flat_map(move |left| all().flat_map(move |right| ALL.map(|semantics| (left, right, semantics))))
}

fn number(text: &str) -> Value<'static> {
    Value::Number(Decimal::from_json(text).unwrap())
}

fn all_kinds() -> Vec<Value<'static>> {
    vec![
        number("42"),
        number("42.0"),
        number("0"),
        number("9007199254740992"),
        number("9007199254740993"),
        number("1e30"),
        number("1234567890123456789.000000000000000001"),
        Value::Text("1234567890123456789.0000000000000000010"),
        Value::Text("42"),
        Value::Text("0042"),
        Value::Text("42.0"),
        Value::Text("-0"),
        Value::Text("9007199254740993"),
        Value::Text("-"),
        Value::Text("abc"),
        Value::Text("true"),
        Value::Boolean(true),
        Value::Boolean(false),
        Value::Text(""),
        Value::Text("a text that is longer than what is kept of a key in place"),
        Value::Text(LONG_WORDS),
        Value::Text(&LONG_TEXTS[0]),
        Value::Text(&LONG_TEXTS[1]),
        Value::Text(&LONG_TEXTS[2]),
        Value::Text(&LONG_TEXTS[3]),
        Value::Text(&LONG_TEXTS[4]),
        Value::Text(&LONG_TEXTS[5]),
    ]
}

const LONG_WORDS: &str =
    "a text that is longer than what is kept of a key in place, by far longer than that it is";

/// Long texts, some of which are numbers that others equal.
static LONG_TEXTS: LazyLock<[String; 6]> = LazyLock::new(|| {
    let zeros = "0".repeat(70);
    [
        format!("{LONG_WORDS}!"),
        format!("{zeros}42"),
        format!("42.{zeros}"),
        format!("{zeros}9007199254740993"),
        format!("-{zeros}"),
        "x".repeat(60_000),
    ]
});

#[test]
fn a_long_text_is_a_key_that_is_stored_inline() {
    let n_bytes = |length: usize| {
        let text = "d".repeat(length);
        StoredKey::of(key(&[Value::Text(&text)], Semantics::CURRENT).unwrap().bytes()).n_heap_bytes()
    };
    for length in [63, 64, 65, 1_000, 64_000] {
        assert_eq!(n_bytes(length), 0, "{length}");
    }
    assert!((0..63).all(|length| n_bytes(length) <= 63));
}

#[test]
fn keys_are_equal_exactly_when_their_values_are() {
    for (left, right, semantics) in pairs() {
        let (one, other) = (key(&[left], semantics).unwrap(), key(&[right], semantics).unwrap());
        let equal = one.class(semantics) == other.class(semantics) && one.agrees_with(other.bytes());
        assert_eq!(equal, relate(left, right, semantics).equal(), "{left:?} {right:?} {semantics:?}");
        let same = one.bytes() == other.bytes();
        assert!(!same || (equal && one.hash() == other.hash()), "{left:?} {right:?} {semantics:?}");
    }
}

#[test]
fn a_key_comes_back_from_its_bytes_and_nothing_else_does() {
    for (left, right, semantics) in pairs() {
        let key = key(&[left, right], semantics).unwrap();
        let kept = ExportKey::from_bytes(key.bytes()).unwrap();
        assert_eq!((kept.to_bytes(), kept.kept().bytes()), (key.bytes(), key.bytes()));
    }
    let long =
        |digits: &str| [&[0_u8][..], &(LONG | digits.len() as u64).to_le_bytes(), digits.as_bytes()].concat();
    assert!(ExportKey::from_bytes(&long("9007199254740993")).is_some());
    for wrong in [long("42"), long("09007199254740993"), long("9007199254740993.0"), long("x")] {
        assert_eq!(ExportKey::from_bytes(&wrong), None, "{wrong:?}");
    }
    for wrong in
        [&[0_u8, 1, 2][..], &[5, b'4', b'2'], &[4, b'x', b'y'], &[0x81], &[3, 0xff], &[0xff; 12], &[9]]
    {
        assert_eq!(ExportKey::from_bytes(wrong), None, "{wrong:?}");
    }
}

#[test]
fn a_key_keeps_the_boundaries_and_the_order_of_its_fields() {
    let pairs = [["a", "b"], ["ab", ""], ["", "ab"], ["b", "a"]];
    let values = pairs.map(|[one, other]| [Value::Text(one), Value::Text(other)]);
    let keys = values.map(|values| key(&values, Semantics::V2).unwrap().class(Semantics::V2));
    for (n, one) in keys.iter().enumerate() {
        assert!(keys.iter().skip(n + 1).all(|other| one != other));
    }
}

#[test]
fn a_value_that_equals_nothing_has_no_key() {
    for value in [Value::Missing, Value::List(&[])] {
        assert!(key(&[Value::Text("a"), value], Semantics::V2).is_none());
    }
}

/// The value looked up in a caseless field is caseless too.
#[test]
fn keys_of_caseless_texts_are_equal_exactly_when_their_values_are() {
    let spelled = ["ABC", "Abc", "TRUE", "\u{c4}", "0042"].map(|text| Value::Text(text).caseless());
    for (left, right) in spelled
        .iter()
        .flat_map(|left| all_kinds().into_iter().chain(spelled).map(move |right| (*left, right.caseless())))
    {
        let (one, other) = (key(&[left], Semantics::V3).unwrap(), key(&[right], Semantics::V3).unwrap());
        let equal = one.class(Semantics::V3) == other.class(Semantics::V3) && one.agrees_with(other.bytes());
        assert_eq!(equal, relate(left, right, Semantics::V3).equal(), "{left:?} {right:?}");
    }
}
