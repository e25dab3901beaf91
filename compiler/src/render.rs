//! Renders diagnostics in the style of a compiler: the source line, the marked text, and the help.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::codes::Severity;
use crate::diagnostic::Diagnostic;
use crate::span::BYTE_ORDER_MARK;

/// Renders the diagnostics of a script as text for people. `path` is the script's name in the output; `styled` adds
/// terminal colours. Returns an empty text when there are no diagnostics.
#[must_use]
pub fn render(script: &str, path: &str, diagnostics: &[Diagnostic], styled: bool) -> String {
    let drawings: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| draw(script, path, &MarkedText::new(diagnostic), styled))
        .collect();
    drawings.join("\n")
}

pub(crate) struct MarkedText<'a> {
    pub(crate) level: Level<'a>,
    pub(crate) id: &'a str,
    /// Byte range in the script.
    pub(crate) span: Range<usize>,
    pub(crate) message: &'a str,
    pub(crate) help: Option<&'a str>,
}

impl<'a> MarkedText<'a> {
    fn new(diagnostic: &'a Diagnostic) -> Self {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        Self {
            level,
            id: diagnostic.code.as_str(),
            span: diagnostic.span.clone(),
            message: &diagnostic.message,
            help: diagnostic.help.as_deref(),
        }
    }
}

/// Renders one message, ending with a line feed.
pub(crate) fn draw(script: &str, path: &str, drawing: &MarkedText<'_>, styled: bool) -> String {
    let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
    // The byte order mark has no column, so it is not shown.
    let n_skipped = if script.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let shown = script.get(n_skipped..).unwrap_or_default();
    let offset_of = |byte: usize| shown.floor_char_boundary(byte.saturating_sub(n_skipped));
    let span = offset_of(drawing.span.start)..offset_of(drawing.span.end);
    let snippet = Snippet::source(shown).path(path).annotation(AnnotationKind::Primary.span(span));
    let mut group = drawing.level.clone().primary_title(drawing.message).id(drawing.id).element(snippet);
    if let Some(help) = drawing.help {
        group = group.element(Level::HELP.message(help));
    }
    renderer.render(&[group]) + "\n"
}
