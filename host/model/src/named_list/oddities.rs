//! Warnings about lists that were read by the wrong column, or were damaged by a spreadsheet.
//!
//! Each of these is a list that matches nothing, and looks like one that was read.

use super::format::numbered;
use super::text;

/// Maximum number of lines with invisible characters that are reported.
const LINES_SHOWN: usize = 20;
/// Smallest number of entries that can be seen to count up.
const COUNTED_MIN: usize = 3;

/// A warning about a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListWarning {
    /// Number of the first line concerned, from 1.
    pub line: usize,
    /// Description for people, in lower case.
    pub message: String,
}

/// Returns the warnings about a list with one entry per line.
#[must_use]
pub fn of_text(list: &str) -> Vec<ListWarning> {
    let list = list.trim_start_matches('\u{feff}');
    let entries: Vec<_> =
        numbered(list).filter_map(|(line, text)| Some((line, text::entry_of_line(text)?))).collect();
    of_entries(entries.iter().map(|(line, entry)| (*line, &**entry)), EntrySource::Lines)
}

/// Returns the warnings about entries that are taken as they are; the lines are their positions, from 1.
#[must_use]
pub fn of_array<'e>(entries: impl Iterator<Item = &'e str>) -> Vec<ListWarning> {
    of_entries((1..).zip(entries), EntrySource::Lines)
}

/// Returns the warnings about the characters and separators of a list with one entry per line.
#[must_use]
pub fn of_characters(list: &str) -> Vec<ListWarning> {
    let invisible = text::invisible_characters(list).take(LINES_SHOWN).map(|(line, character)| ListWarning {
        line,
        message: format!("the entry has the invisible character U+{:04X}", u32::from(character)),
    });
    let separator = text::separator_of_columns(list).map(|separator| ListWarning {
        line: 1,
        message: format!(
            "every line has the same number of `{}`; a table is read from a file `*.csv`",
            separator.escape_debug()
        ),
    });
    invisible.chain(separator).collect()
}

/// Where entries come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntrySource {
    /// Lines of text.
    Lines,
    /// The first column of a table.
    FirstColumn,
    /// A column that the author named.
    NamedColumn,
}

/// Returns the warnings about entries, each with its line.
pub(super) fn of_entries<'e>(
    entries: impl Iterator<Item = (usize, &'e str)>,
    from: EntrySource,
) -> Vec<ListWarning> {
    let entries: Vec<(usize, &str)> = entries.collect();
    let mut warnings = Vec::new();
    let damaged: Vec<_> = entries.iter().filter(|(_, entry)| is_damaged(entry)).collect();
    if let [(line, first), ..] = damaged.as_slice() {
        let message = format!(
            "{} of {} entries were changed by a spreadsheet, such as `{first}`; format the column as text and export it again",
            damaged.len(),
            entries.len()
        );
        warnings.push(ListWarning { line: *line, message });
    }
    if from == EntrySource::NamedColumn {
        return warnings;
    }
    let cure = match from {
        EntrySource::Lines => "write the identifiers themselves, one per line",
        _ => "`# column=NAME` in the first line chooses another column",
    };
    let dates: Vec<_> = entries.iter().filter(|(_, entry)| is_date(entry)).collect();
    if let Some((line, first)) = dates.first().filter(|_| dates.len() * 2 > entries.len()) {
        let message = format!("most entries are dates, such as `{first}`; {cure}");
        warnings.push(ListWarning { line: *line, message });
    }
    if let Some(line) = counted_from(&entries, from) {
        let message = format!("most entries are numbers that count up, like the numbers of rows; {cure}");
        warnings.push(ListWarning { line, message });
    }
    warnings
}

/// Returns the line where numbers begin that count up. In a table they may have gaps, as the keys of a database do, if
/// they are small for the number of rows.
fn counted_from(entries: &[(usize, &str)], from: EntrySource) -> Option<usize> {
    let n_entries = u64::try_from(entries.len()).unwrap_or(u64::MAX);
    let largest = n_entries.saturating_mul(100).saturating_add(100);
    let numbers: Vec<Option<u64>> =
        entries.iter().map(|(_, entry)| counter(entry).filter(|number| *number <= largest)).collect();
    let follows = |pair: &[Option<u64>]| match pair {
        [Some(one), Some(next)] if from == EntrySource::FirstColumn => next > one,
        [Some(one), Some(next)] => *next == one + 1,
        _ => false,
    };
    let pairs: Vec<bool> = numbers.windows(2).map(follows).collect();
    let n_following = pairs.iter().filter(|follows| **follows).count();
    if entries.len() < COUNTED_MIN || n_following * 2 <= pairs.len() {
        return None;
    }
    let first = pairs.iter().position(|follows| *follows)?;
    entries.get(first).map(|(line, _)| *line)
}

/// Returns a number as a counter writes it: without a leading zero.
fn counter(entry: &str) -> Option<u64> {
    let is_plain =
        entry.bytes().all(|byte| byte.is_ascii_digit()) && (entry == "0" || !entry.starts_with('0'));
    if is_plain { entry.parse().ok() } else { None }
}

/// Returns whether an entry is a date with a year of four digits, with or without a time.
fn is_date(entry: &str) -> bool {
    let day = entry.split(['T', ' ']).next().unwrap_or_default();
    let Some(separator) = ['-', '/', '.'].into_iter().find(|separator| day.contains(*separator)) else {
        return false;
    };
    let is_year = |part: &str| part.len() == 4 && matches!(part.parse(), Ok(1900..=2100_u32));
    let is_small = |part: &str| part.len() <= 2 && matches!(part.parse(), Ok(1..=31_u32));
    match day.split(separator).collect::<Vec<_>>().as_slice() {
        [one, two, three] => {
            is_small(two) && (is_year(one) && is_small(three) || is_small(one) && is_year(three))
        }
        _ => false,
    }
}

/// Returns whether a spreadsheet, or a program that takes identifiers for numbers, changed an entry: `6.21E+18`,
/// `="0123"`, `123456789.0`.
fn is_damaged(entry: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let scientific = entry.split_once("E+").or_else(|| entry.split_once("e+"));
    let is_scientific = scientific.is_some_and(|(mantissa, exponent)| {
        let (whole, fraction) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, "0"));
        is_number(whole) && is_number(fraction) && is_number(exponent)
    });
    let is_float = entry.strip_suffix(".0").is_some_and(|whole| whole.len() > 5 && is_number(whole));
    is_scientific || is_float || entry.starts_with("=\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the line and the beginning of the only warning; `None` if there is none.
    #[track_caller]
    fn check(list: &str, expected: Option<(usize, &str)>) {
        let warnings = of_text(list);
        let found = warnings.first().map(|warning| (warning.line, warning.message.as_str()));
        match (found, expected) {
            (Some((line, message)), Some((expected, words))) => {
                assert!(line == expected && message.contains(words), "{list:?}: {line}: {message}");
            }
            (found, expected) => assert!(found.is_none() && expected.is_none(), "{list:?}: {found:?}"),
        }
    }

    #[test]
    fn numbers_that_count_up_dates_and_damage_are_reported_with_their_line() {
        check("# rows\n1\n2\n3\n", Some((2, "count up")));
        check("acc-1\n7\n8\n9\n10\n", Some((2, "count up")));
        check("2024-01-31\n2024-02-01\nx\n", Some((1, "dates")));
        check("31/01/2024\n01.02.2024 10:00\n", Some((1, "dates")));
        check("acc-1\n6.21E+18\n", Some((2, "1 of 2 entries")));
        check("acc-1\n=\"0123\"\n6,21E+18\n", Some((2, "2 of 3 entries")));
        check("1234567890.0\n", Some((1, "such as `1234567890.0`")));
    }

    #[test]
    fn identifiers_that_look_like_numbers_are_left_alone() {
        for list in [
            "411111\n411112\n411113\n411114\n",
            "5411\n5812\n5999\n",
            "004\n008\n012\n",
            "12-34-56\n12-34-57\n",
            "10.0.0.1\n",
            "1\n2\n",
            "5E10\nE+5\n1.0\n",
            "",
        ] {
            check(list, None);
        }
    }
}
