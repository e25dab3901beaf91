//! Lone surrogates, the remains of a character when a text is cut in UTF-16.
//!
//! A serializer that counts in UTF-16 may write such a half as a separate escape, `\ud83d`, which is not a character.
//! In a free text it becomes U+FFFD, as in browsers. Identifiers must not change, so there it is an error.

/// Replaces every lone surrogate in a raw text with `\ufffd`. Returns `None` if there is none.
pub(super) fn without_lone_halves(raw: &str) -> Option<String> {
    if !raw.as_bytes().contains(&b'\\') {
        return None;
    }
    let (mut mended, mut rest, mut n_mended) = (String::with_capacity(raw.len()), raw, 0_usize);
    while let Some((before, escape)) = rest.split_once('\\') {
        mended.push_str(before);
        mended.push('\\');
        let (taken, behind) = match unit_of(escape) {
            Some(unit) if is_high(unit) && behind_unit(escape).is_some_and(begins_with_low) => {
                (11, escape.get(11..))
            }
            Some(unit) if is_high(unit) || is_low(unit) => {
                n_mended += 1;
                mended.push_str("ufffd");
                (0, escape.get(5..))
            }
            Some(_) => (5, escape.get(5..)),
            // An escape of a single character.
            None => (1, escape.get(1..)),
        };
        mended.push_str(escape.get(..taken).unwrap_or_default());
        rest = behind.unwrap_or_default();
    }
    mended.push_str(rest);
    (n_mended > 0).then_some(mended)
}

/// Returns the UTF-16 unit of the escape at the start: `u` and four hexadecimal digits.
fn unit_of(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix('u')?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

fn behind_unit(escape: &str) -> Option<&str> {
    escape.get(5..)
}

fn begins_with_low(text: &str) -> bool {
    text.strip_prefix('\\').and_then(unit_of).is_some_and(is_low)
}

const fn is_high(unit: u16) -> bool {
    matches!(unit, 0xd800..=0xdbff)
}

const fn is_low(unit: u16) -> bool {
    matches!(unit, 0xdc00..=0xdfff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_without_its_other_half_becomes_the_replacement_character() {
        for (raw, expected) in [
            (r"\ud83d", r"\ufffd"),
            (r"\ude00", r"\ufffd"),
            (r"a\uD83Db", r"a\ufffdb"),
            (r"\ud83d\u0041", r"\ufffd\u0041"),
            (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\ude00\ud83d", r"\ufffd\ufffd"),
            (r"\ud83d\n", r"\ufffd\n"),
            (r"\\\ud83d", r"\\\ufffd"),
        ] {
            assert_eq!(without_lone_halves(raw).as_deref(), Some(expected), "{raw}");
        }
        for raw in ["", "abc", r"\ud83d\ude00", r"\\ud83d", r"\n\u0041\/", "é😀"] {
            assert_eq!(without_lone_halves(raw), None, "{raw}");
        }
    }
}
