//! The difference between two texts of many lines, for versions of a list that differ in few of them.
//!
//! Both texts are read line by line. Where they differ, the next common line within a few lines is looked for, so that
//! the work is bounded whatever the texts are.

use serde::{Deserialize, Serialize};

/// Lines of each text among which a common one is looked for.
const LOOKED_AT: usize = 64;

/// A part of the new text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Part {
    /// Bytes of the old text: offset and length.
    Copied(usize, usize),
    /// Text that is not in the old one.
    Inserted(String),
}

/// Returns the difference by which [`apply`] makes `new` of `old`.
pub(super) fn difference(old: &str, new: &str) -> Result<String, serde_json::Error> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let mut parts = DifferenceParts::default();
    let (mut at, mut to) = (0, 0);
    let mut offset = 0;
    while let Some(line) = new_lines.get(to) {
        if old_lines.get(at) == Some(line) {
            parts.copy(offset, line.len());
            (at, to, offset) = (at + 1, to + 1, offset + line.len());
            continue;
        }
        let (skipped, inserted) = next_common(rest(&old_lines, at), rest(&new_lines, to));
        rest(&new_lines, to).iter().take(inserted).for_each(|line| parts.insert(line));
        offset += rest(&old_lines, at).iter().take(skipped).map(|line| line.len()).sum::<usize>();
        (at, to) = (at + skipped, to + inserted);
    }
    serde_json::to_string(&parts.0)
}

/// Applies a difference to the old text. Returns `None` if it is not a difference to this text.
pub(super) fn apply(old: &str, difference: &str) -> Option<String> {
    let parts: Vec<Part> = serde_json::from_str(difference).ok()?;
    let mut new = String::new();
    for part in &parts {
        new.push_str(match part {
            Part::Copied(offset, length) => old.get(*offset..offset.checked_add(*length)?)?,
            Part::Inserted(text) => text,
        });
    }
    Some(new)
}

/// The parts of a difference; neighbours of a kind are one.
#[derive(Default)]
struct DifferenceParts(Vec<Part>);

impl DifferenceParts {
    fn copy(&mut self, offset: usize, length: usize) {
        match self.0.last_mut() {
            Some(Part::Copied(first, so_far)) if *first + *so_far == offset => *so_far += length,
            _ => self.0.push(Part::Copied(offset, length)),
        }
    }

    fn insert(&mut self, line: &str) {
        match self.0.last_mut() {
            Some(Part::Inserted(text)) => text.push_str(line),
            _ => self.0.push(Part::Inserted(line.to_owned())),
        }
    }
}

/// Returns the lines of a text, each with its end.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn rest<'l, 't>(lines: &'l [&'t str], at: usize) -> &'l [&'t str] {
    lines.get(at..).unwrap_or_default()
}

/// Returns how many lines of each text lie before the next common one, or the lines that were looked at.
fn next_common(old: &[&str], new: &[&str]) -> (usize, usize) {
    let (old, new) = (old.get(..LOOKED_AT).unwrap_or(old), new.get(..LOOKED_AT).unwrap_or(new));
    for distance in 1..old.len() + new.len() {
        for skipped in 0..=distance.min(old.len().saturating_sub(1)) {
            let inserted = distance - skipped;
            if new.get(inserted).is_some_and(|line| old.get(skipped) == Some(line)) {
                return (skipped, inserted);
            }
        }
    }
    (old.len(), new.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the difference makes one text of the other and has at most so many bytes.
    #[track_caller]
    fn check(old: &str, new: &str, bytes_max: usize) {
        let difference = difference(old, new).unwrap();
        assert_eq!(apply(old, &difference).as_deref(), Some(new));
        assert!(difference.len() <= bytes_max, "{} bytes: {difference}", difference.len());
    }

    #[test]
    fn a_difference_has_the_lines_that_differ() {
        let list: Vec<String> = (0..10_000).map(|n| format!("account-{n:08}\n")).collect();
        let old = list.concat();
        check(&old, &old, 20);
        check(&old, &format!("{old}one more"), 40);
        check(&old, "", 10);
        check("", &old, old.len() + 20_000);
        let mut scattered = list.clone();
        for at in [9_999, 5_000, 4_999, 17, 0] {
            scattered.remove(at);
            scattered.insert(at / 2, "é \"quoted\"\r\n".to_owned());
        }
        check(&old, &scattered.concat(), 500);
        check(&scattered.concat(), &old, 500);
        let reversed: String = list.iter().rev().map(String::as_str).collect();
        check(&old, &reversed, 2 * old.len());
    }

    #[test]
    fn a_difference_to_another_text_is_none() {
        let difference = difference("a\nb\n", "a\nb\nc\n").unwrap();
        assert_eq!(apply("é", &difference), None);
        assert_eq!(apply("a", &difference), None);
        assert_eq!(apply("a\nb\n", "no difference"), None);
    }
}
