//! Text edits by span.

use crate::span::Span;

/// Edits that do not overlap, except that an insertion may touch either end of a replaced span.
#[derive(Debug, Default)]
pub(super) struct Edits {
    edits: Vec<(Span, String)>,
}

impl Edits {
    pub(super) fn replace(&mut self, span: Span, text: impl Into<String>) {
        self.edits.push((span, text.into()));
    }

    pub(super) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(Span::new(at, at), text);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Returns the text of a span with all edits inside it applied.
    pub(super) fn apply(&self, script: &str, within: Span) -> String {
        let mut edits: Vec<&(Span, String)> = self.edits.iter().collect();
        edits.sort_by_key(|(span, _)| (span.start, span.end));
        let mut text = String::new();
        let mut from = within.start;
        for (span, instead) in edits {
            if span.start < from || span.end > within.end {
                continue;
            }
            text.push_str(Span::new(from, span.start).text(script));
            text.push_str(instead);
            from = span.end;
        }
        text.push_str(Span::new(from, within.end).text(script));
        text
    }
}
