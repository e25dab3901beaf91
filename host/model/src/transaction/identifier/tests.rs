//! Clear and unclear identifiers.

use super::*;

#[track_caller]
fn check(text: &str, expected: Option<&str>) {
    let said = unclear_character(text).map(|unclear| unclear.to_string());
    assert_eq!(said.as_deref(), expected, "{}", text.escape_unicode());
}

#[test]
fn every_class_of_characters_is_one() {
    for (class, member, other) in [
        (&INVISIBLE, '\u{200b}', 'a'),
        (&CONTROL, '\u{2028}', 'a'),
        (&PICTURE, '\u{1f469}', '1'),
        (&JOINED_LETTER, 'م', 'm'),
        (&MARK, '\u{94d}', 'a'),
    ] {
        assert!(class.has(member) && !class.has(other), "{}", member.escape_unicode());
    }
}

#[test]
fn identifiers_of_every_script_are_clear() {
    for text in [
        "acc-1",
        "a b",
        "DE89 3704 0044 0532 0130 00",
        "Ünïcödé",
        "e\u{301}",
        "حساب-١",
        "חשבון 7",
        "口座番号",
        "می\u{200c}خواهم",
        "क\u{94d}\u{200d}ष",
        "👩\u{200d}💻",
        "🏳\u{fe0f}\u{200d}🌈",
        "👩🏽\u{200d}🚀",
        "🏃\u{200d}♀\u{fe0f}",
        "1\u{fe0f}\u{20e3}",
        "❤\u{fe0f}",
        "🇩🇪",
        "'; DROP TABLE transactions; --",
    ] {
        check(text, None);
    }
}

#[test]
fn a_character_that_nobody_sees_is_named_with_its_position() {
    check("acc\u{200b}-1", Some("an invisible character, U+200B (zero width space) as character 4 of 6"));
    check("acc-1 ", Some("a blank at its start or end, U+0020 (space) as character 6 of 6"));
    check(" ", Some("a blank at its start or end, U+0020 (space) as character 1 of 1"));
    check("\u{a0}acc-1", Some("a blank at its start or end, U+00A0 (no-break space) as character 1 of 6"));
    check("a\nb", Some("a control character, U+000A (line feed) as character 2 of 3"));
    check("acc-1\n", Some("a control character, U+000A (line feed) as character 6 of 6"));
    check("\u{202e}x", Some("a control character, U+202E (right-to-left override) as character 1 of 2"));
    check("a\u{9f}", Some("a control character, U+009F as character 2 of 2"));
    check("x\u{e0041}", Some("an invisible character, U+E0041 as character 2 of 2"));
}

#[test]
fn every_invisible_spelling_of_an_account_is_found() {
    for unseen in [
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{17b4}',
        '\u{180b}',
        '\u{180e}',
        '\u{200b}',
        '\u{200c}',
        '\u{200d}',
        '\u{200e}',
        '\u{200f}',
        '\u{202a}',
        '\u{2060}',
        '\u{2061}',
        '\u{2064}',
        '\u{206f}',
        '\u{3164}',
        '\u{fe00}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{1d173}',
        '\u{e0001}',
        '\u{e0100}',
        '\u{2028}',
    ] {
        for text in ["@acc-1", "a@cc-1", "acc@-1", "acc-1@"] {
            let text = text.replace('@', &unseen.to_string());
            assert!(unclear_character(&text).is_some(), "{}", text.escape_unicode());
        }
    }
    for text in ["acc-1 ", " acc-1", "acc-1\u{2003}", "acc-1\u{3000}", "acc-1\u{2800}", "acc-1\t"] {
        assert!(unclear_character(text).is_some(), "{}", text.escape_unicode());
    }
}
