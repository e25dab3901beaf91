//! Valid and invalid JSON, and round trips without loss.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<Json, JsonError> {
    Json::parse(text.as_bytes(), JsonLimits::REQUEST)
}

#[track_caller]
fn check(text: &str, code: &str, message: &str) {
    let error = parse(text).unwrap_err();
    assert_eq!((error.code(), &*error.to_string()), (code, message));
}

#[test]
fn a_value_is_written_as_it_was_given_without_blanks() {
    for (given, written) in [
        (" null\n", "null"),
        ("[ true , false ]", "[true,false]"),
        ("-0", "-0"),
        (r#"{"b": 1.10, "a": 1E+2}"#, r#"{"b":1.10,"a":1E+2}"#),
        ("{}", "{}"),
        ("[]", "[]"),
        (r#""\u00e9\ud83d\ude00\/""#, "\"é😀/\""),
        (r#""\"\\\n\r\t\u0008\u001f\u007f""#, "\"\\\"\\\\\\n\\r\\t\\u0008\\u001f\u{7f}\""),
    ] {
        assert_eq!(parse(given).unwrap().to_string(), written);
        assert_eq!(serde_json::to_string(&parse(given).unwrap()).unwrap(), written);
    }
}

#[test]
fn one_meaning_has_one_canonical_spelling() {
    let spellings = [
        r#"{"a": [1.10, -0], "B": {"y": null, "x": "\u00e9"}, "aa": 1000}"#,
        r#"{"aa": 1e3, "B": {"x": "é", "y": null}, "a": [11e-1, 0.0]}"#,
    ];
    for spelling in spellings {
        assert_eq!(parse(spelling).unwrap().canonical(), r#"{"B":{"x":"é","y":null},"a":[1.1,0],"aa":1000}"#);
    }
}

#[test]
fn malformed_json_is_refused_with_its_position() {
    check("", "malformed_json", "the body is not JSON: EOF while parsing a value at line 1, column 0");
    check("{\n  \"a\": ]}", "malformed_json", "the body is not JSON: expected value at line 2, column 8");
    for (text, cause) in [
        (
            "{\n  \"a\": NaN}",
            "the value of `a` is `NaN`, which is not valid in JSON; send a number, a text or null, or leave the field out at line 2, column 8",
        ),
        ("{\"a\": -Infinity}", "the value of `a` is `-Infinity`"),
        ("{\"a\": nan}", "the value of `a` is `nan`"),
        ("{\"a\": None}", "the value of `a` is `None`"),
        ("{'a': 1}", "not in apostrophes"),
        ("\u{feff}{}", "a byte order mark (U+FEFF); send it without at line 1, column 1"),
        ("{\0\"\0", "UTF-16"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.code(), "malformed_json");
        assert!(error.to_string().contains(cause), "{error}");
    }
    check("[1] 2", "malformed_json", "the body is not JSON: trailing characters at line 1, column 5");
    for text in [
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "'a'",
        "01",
        "+1",
        "1.",
        ".1",
        "1e",
        "- 1",
        "Infinity",
        "nul",
        "True",
        "\u{feff}1",
        "\"a\nb\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"",
        "[",
        "{\"a\"",
        "{\"a\":",
        "/**/1",
        "[1 2]",
        "{1:2}",
        "\u{a0}1",
        "]",
        "}",
        "\"\u{1}\"",
    ] {
        assert_eq!(parse(text).unwrap_err().code(), "malformed_json", "{text}");
    }
    let error = Json::parse(b"[\"\xc3\x28\"]", JsonLimits::REQUEST).unwrap_err();
    assert_eq!(error.to_string(), "the body is not UTF-8 after byte 2; send it in UTF-8");
    let error = Json::parse(b"\xff\xfe{\0}\0", JsonLimits::REQUEST).unwrap_err();
    assert!(error.to_string().contains("byte order mark of UTF-16; send it in UTF-8"), "{error}");
}

#[test]
fn a_surrogate_without_its_other_half_is_refused_with_its_position_in_the_whole_text() {
    for half in [r"\ud800", r"\udc00", r"\ud800\u0041", r"\ud800\ud800"] {
        for text in [
            format!("\"{half}\""),
            format!("{{\"{half}\": 1}}"),
            format!("{{\"a\": [\"{half}\"]}}"),
            format!("{{\"a\": {{\"{half}\": 1}}}}"),
        ] {
            assert_eq!(parse(&text).unwrap_err().code(), "malformed_json", "{text}");
        }
    }
    let error = parse("{\"a\": 1,\n \"b\": [1,\n  2, \"xyz\\udc00\"]}").unwrap_err();
    let JsonErrorKind::Malformed { line, column, .. } = error.kind() else { panic!("{error}") };
    assert_eq!((*line, *column), (3, 15));
    assert_eq!(error.path(), Some("b[2]"));
    assert!(error.to_string().contains("half of a surrogate pair"), "{error}");
}

#[test]
fn half_of_a_surrogate_pair_is_mended_in_texts_for_people_alone() {
    let read = |text: &str, limits| Json::parse(text.as_bytes(), limits).map(|json| json.to_string());
    let transaction = r#"{"reference":"a\ud83d","meta_data":{"source":["\ude00"]},"other":"\ud83d\ude00"}"#;
    let mended = "{\"reference\":\"a\u{fffd}\",\"meta_data\":{\"source\":[\"\u{fffd}\"]},\"other\":\"😀\"}";
    assert_eq!(read(transaction, JsonLimits::transaction(64)).unwrap(), mended);
    let envelope = |data: &str| format!(r#"{{"event":"e","data":{data}}}"#);
    assert_eq!(read(&envelope(transaction), JsonLimits::envelope(64)).unwrap(), envelope(mended));
    assert_eq!(
        read(r#"{"source":"\ud83d"}"#, JsonLimits::metadata(64)).unwrap(),
        "{\"source\":\"\u{fffd}\"}"
    );
    for field in ["transaction_id", "source", "destination", "status", "hash", "currency", "created_at"] {
        let named = format!(r#"{{"{field}":"\ud83d"}}"#);
        for (text, limits, path) in [
            (named.clone(), JsonLimits::transaction(64), field.to_owned()),
            (envelope(&named), JsonLimits::envelope(64), format!("data.{field}")),
        ] {
            let error = Json::parse(text.as_bytes(), limits).unwrap_err();
            assert_eq!((error.code(), error.path()), ("malformed_json", Some(path.as_str())), "{text}");
        }
    }
    assert!(read(r#"{"meta_data":{"\ud83d":1}}"#, JsonLimits::transaction(64)).is_err());
}

#[test]
fn nul_is_refused_in_texts_and_in_keys() {
    check(r#"{"a": ["x\u0000"]}"#, "nul_character", "`a[0]` must not hold the character NUL");
    check(r#"{"a\u0000": 1}"#, "nul_character", "the body must not hold the character NUL");
}

#[test]
fn a_key_given_twice_is_refused_at_any_depth_and_in_any_spelling() {
    check(r#"{"a": 1, "b": 2, "a": 1}"#, "duplicate_key", "the body has the key `a` twice; send it once");
    check(
        r#"{"amount": 1, "am\u006funt": 2}"#,
        "duplicate_key",
        "the body has the key `amount` twice; send it once",
    );
    check(
        r#"{"m": [0, {"k": {"": 1, "": 2}}]}"#,
        "duplicate_key",
        "`m[1].k` has the key `` twice; send it once",
    );
    assert!(parse(r#"{"a": {"a": 1}, "A": 1, "á": 1}"#).is_ok());
}

#[test]
fn nesting_ends_at_32_and_is_refused_quickly_beyond() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(32)).is_ok());
    assert_eq!(parse(&nested(33)).unwrap_err().code(), "too_deep");
    let objects = format!("{}1{}", "{\"a\":".repeat(33), "}".repeat(33));
    assert_eq!(parse(&objects).unwrap_err().code(), "too_deep");

    let started = Instant::now();
    assert_eq!(parse(&nested(1_000_000)).unwrap_err().code(), "too_deep");
    assert_eq!(parse(&"[".repeat(1_000_000)).unwrap_err().code(), "malformed_json");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn an_object_has_at_most_as_many_keys_as_it_may() {
    let object = |n_keys: usize| {
        let entries: Vec<String> = (0..n_keys).map(|key| format!("\"k{key}\": {key}")).collect();
        format!("{{\"m\": {{{}}}}}", entries.join(","))
    };
    assert!(parse(&object(1_024)).is_ok());
    for n_keys in [1_025, 1_026, 100_000] {
        check(
            &object(n_keys),
            "too_many_keys",
            "`m` has more than 1024 keys; send fewer, or set SERVICE_OBJECT_KEYS_MAX higher",
        );
    }
    let limits = |keys_max| JsonLimits { keys_max, ..JsonLimits::REQUEST };
    assert!(Json::parse(object(5_000).as_bytes(), limits(5_000)).is_ok());
    assert!(Json::parse(object(5_001).as_bytes(), limits(5_000)).is_err());
    assert!(Json::parse(object(5_000).as_bytes(), JsonLimits::STORED).is_ok());
}

#[test]
fn numbers_beyond_38_digits_are_refused_with_their_path() {
    check(
        r#"{"a": [1, {"b": 1e400}]}"#,
        "number_out_of_range",
        "`a[1].b` must be a number of at most 38 digits, before and after the point together",
    );
    let started = Instant::now();
    for digits in
        ["9".repeat(100_000), format!("0.{}1", "0".repeat(100_000)), format!("1e{}", "9".repeat(100_000))]
    {
        assert_eq!(parse(&digits).unwrap_err().code(), "number_out_of_range");
    }
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[test]
fn a_message_shows_no_more_of_a_key_than_a_terminal_can_take() {
    let key = format!("\\u001b[31m{}", "x".repeat(10_000));
    let error = parse(&format!("{{\"{key}\": 1e400}}")).unwrap_err();
    assert!(error.path().unwrap().starts_with("\\u{1b}[31mxxx"));
    assert!(error.to_string().len() < 200);
}

fn json() -> impl Strategy<Value = Json> {
    let number = (any::<i64>(), 0_u32..18, any::<bool>()).prop_map(|(mantissa, scale, exponent)| {
        let text = if exponent {
            format!("{mantissa}e-{scale}")
        } else {
            format!("{}.{:0width$}", mantissa / 1_000, scale, width = scale as usize + 1)
        };
        Json::Number(JsonNumber::of_json(&text).unwrap())
    });
    let text = "[^\u{0}]{0,12}";
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Boolean),
        number,
        text.prop_map(|text| Json::Text(text.into())),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            prop::collection::hash_map(text, inner, 0..6).prop_map(|map| Json::Object(
                map.into_iter().map(|(key, value)| (key.into(), value)).collect()
            )),
        ]
    })
}

proptest! {
    #[test]
    fn json_is_written_and_read_back_unchanged(json in json()) {
        let text = json.to_string();
        let read = parse(&text).unwrap();
        prop_assert_eq!(&read, &json);
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn the_canonical_spelling_is_its_own_canonical_spelling(json in json()) {
        let canonical = json.canonical();
        prop_assert_eq!(parse(&canonical).unwrap().canonical(), canonical);
    }

    #[test]
    fn serde_json_accepts_all_json_that_the_parser_accepts(text in r#"[\[\]{}:,"\\ 0-9.eEtrufalsn+\-]{0,24}"#) {
        if parse(&text).is_ok() {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }
}
