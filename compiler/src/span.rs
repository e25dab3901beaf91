//! Byte ranges of a script, and their line and column.

use serde::Serialize;

/// A half-open byte range, always on character boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Returns the span from the start of this one to the end of `that`.
    pub(crate) const fn to(self, that: Span) -> Self {
        Self { start: self.start, end: that.end }
    }

    pub(crate) fn text(self, script: &str) -> &str {
        script.get(self.start..self.end).unwrap_or_default()
    }
}

/// A position for people. Both numbers start at 1; columns count characters, and a tab is one character.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line; lines end with a line feed.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub line: usize,
    /// The column; a byte order mark at the start of the script has none.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub column: usize,
}

/// Line starts of a script, to convert byte offsets to positions.
#[derive(Debug)]
pub(crate) struct LineIndex<'s> {
    script: &'s str,
    starts: Vec<usize>,
}

/// Returns the position of a byte of a script. A byte beyond the end has the position of the end.
#[must_use]
pub fn position(script: &str, byte: usize) -> Position {
    LineIndex::new(script).position(byte)
}

impl<'s> LineIndex<'s> {
    pub(crate) fn new(script: &'s str) -> Self {
        let first = if script.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        let further = script.match_indices('\n').map(|(at, _)| at + 1);
        Self { script, starts: std::iter::once(first).chain(further).collect() }
    }

    /// Returns the position of a byte of the script. A byte beyond the end has the position of the end.
    pub(crate) fn position(&self, byte: usize) -> Position {
        let byte = byte.min(self.script.len());
        let line = self.starts.partition_point(|&start| start <= byte).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let before = self.script.get(start..byte).unwrap_or_default();
        Position { line, column: before.chars().count() + 1 }
    }
}

/// Skipped at the start of a script, and only there.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, byte: usize, line: usize, column: usize) {
        assert_eq!(LineIndex::new(script).position(byte), Position { line, column }, "{script:?} at {byte}");
    }

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        check("", 0, 1, 1);
        check("ab", 1, 1, 2);
        check("äb", 2, 1, 2);
        check("a\nb", 2, 2, 1);
        check("a\r\nb", 3, 2, 1);
        check("\tb", 1, 1, 2);
        check("a\n", 2, 2, 1);
        check("a", 99, 1, 2);
    }

    #[test]
    fn a_byte_order_mark_takes_no_column() {
        check("\u{feff}ab", 3, 1, 1);
        check("\u{feff}ab", 4, 1, 2);
        check("\u{feff}", 0, 1, 1);
    }
}
