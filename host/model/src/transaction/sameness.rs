//! Fast equality of short texts, for code that compares one text with many.

/// Returns whether two texts are equal.
#[must_use]
#[inline]
pub fn is_same_text(one: &str, other: &str) -> bool {
    is_same_bytes(one.as_bytes(), other.as_bytes())
}

/// Returns whether two slices are equal. From 2 to 32 bytes, it compares two words that may overlap, which is faster
/// than a function call.
#[must_use]
#[inline]
pub fn is_same_bytes(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    match one.len() {
        8..=16 => have_same_ends::<8>(one, other),
        4..8 => have_same_ends::<4>(one, other),
        2..4 => have_same_ends::<2>(one, other),
        17..=32 => have_same_ends::<16>(one, other),
        _ => one == other,
    }
}

#[inline]
fn have_same_ends<const N: usize>(one: &[u8], other: &[u8]) -> bool {
    one.first_chunk::<N>() == other.first_chunk() && one.last_chunk::<N>() == other.last_chunk()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_makes_all_the_difference() {
        for length in 0..70 {
            let text = "x".repeat(length);
            assert!(is_same_text(&text, &text.clone()));
            assert!(!is_same_text(&text, &format!("{text}x")) && !is_same_text(&format!("{text}x"), &text));
            for index in 0..length {
                let mut other = text.clone();
                other.replace_range(index..=index, "y");
                assert!(!is_same_text(&text, &other), "{length} {index}");
            }
        }
    }
}
