//! Keys are equal when their values are, and come back from their bytes.

use super::*;
use crate::transaction::relate;

fn key(values: &[Value<'_>]) -> Option<Key> {
    let mut key = Key::default();
    key.fill(values, Key::add).map(|()| key)
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
        Value::Text(
            "a text that is longer than what is kept of a key in place, by far longer than that it is",
        ),
    ]
}

#[test]
fn keys_are_equal_exactly_when_their_values_are() {
    for left in all_kinds() {
        for right in all_kinds() {
            let (one, other) = (key(&[left]).unwrap(), key(&[right]).unwrap());
            let equal = one.class() == other.class() && one.agrees_with(other.bytes());
            assert_eq!(equal, relate(left, right).equal(), "{left:?} {right:?}");
            let same = one.bytes() == other.bytes();
            assert!(!same || (equal && one.hash() == other.hash()), "{left:?} {right:?}");
        }
    }
}

#[test]
fn a_key_comes_back_from_its_bytes_and_nothing_else_does() {
    for left in all_kinds() {
        for right in all_kinds() {
            let key = key(&[left, right]).unwrap();
            let kept = ExportKey::from_bytes(key.bytes()).unwrap();
            assert_eq!((kept.to_bytes(), kept.kept().bytes()), (key.bytes(), key.bytes()));
        }
    }
    for wrong in
        [&[0_u8, 1, 2][..], &[5, b'4', b'2'], &[4, b'x', b'y'], &[0x81], &[3, 0xff], &[0xff; 12], &[9]]
    {
        assert_eq!(ExportKey::from_bytes(wrong), None, "{wrong:?}");
    }
}

#[test]
fn what_stands_in_one_field_is_not_taken_for_what_stands_in_another() {
    let pairs = [["a", "b"], ["ab", ""], ["", "ab"], ["b", "a"]];
    let keys = pairs.map(|[one, other]| key(&[Value::Text(one), Value::Text(other)]).unwrap().class());
    for (n, one) in keys.iter().enumerate() {
        assert!(keys.iter().skip(n + 1).all(|other| one != other));
    }
}

#[test]
fn what_equals_nothing_has_no_key() {
    for value in [Value::Missing, Value::List(&[])] {
        assert!(key(&[Value::Text("a"), value]).is_none());
    }
}
