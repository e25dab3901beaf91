//! Spelling suggestions.

/// Longest word for which suggestions are computed.
const WORD_CHARS_MAX: usize = 40;

/// Returns the candidate closest to `word`: equal except for case, or at most a few letters different.
pub(crate) fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    nearest_within(word, word.chars().count() / 3, candidates)
}

/// Returns the candidate closest to `word`, with at most `distance_max` letters different; case does not count.
#[must_use]
pub fn nearest_within<'c>(
    word: &str,
    distance_max: usize,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let word: Vec<char> = word.chars().take(WORD_CHARS_MAX + 1).collect();
    if word.len() > WORD_CHARS_MAX {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|&(distance, _)| distance <= distance_max)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the edit distance: insertions, deletions and substitutions, ignoring ASCII case.
fn distance(word: &[char], candidate: &str) -> usize {
    let mut row: Vec<usize> = (0..=word.len()).collect();
    for (i, right) in candidate.chars().enumerate() {
        let mut diagonal = i;
        let mut left_of = i + 1;
        let mut next = vec![left_of];
        for (left, &above) in word.iter().zip(row.iter().skip(1)) {
            let exchanged = diagonal + usize::from(!left.eq_ignore_ascii_case(&right));
            left_of = exchanged.min(above + 1).min(left_of + 1);
            next.push(left_of);
            diagonal = above;
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        assert_eq!(nearest(word, ["amount", "currency", "source", "hour_of_day"]), expected, "{word}");
    }

    #[test]
    fn a_word_is_near_when_few_letters_differ() {
        check("amoutn", Some("amount"));
        check("Amount", Some("amount"));
        check("curency", Some("currency"));
        check("hourofday", Some("hour_of_day"));
        check("kyc_level", None);
        check("x", None);
        check(&"a".repeat(10_000), None);
    }
}
