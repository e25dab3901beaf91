//! Diagnostics drawn as a compiler draws them: the line, the place, the cure.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::codes::Severity;
use crate::diagnostic::Diagnostic;
use crate::span::BYTE_ORDER_MARK;

/// The diagnostics of a script as a text for people; `path` is what they know the script by. With `styled`, colours for
/// a terminal. Empty when there is nothing to say.
#[must_use]
pub fn render(script: &str, path: &str, diagnostics: &[Diagnostic], styled: bool) -> String {
    let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
    // The mark has no column, so it must not be in the picture.
    let n_skipped = if script.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let shown = script.get(n_skipped..).unwrap_or_default();
    let mut drawn = String::new();
    for diagnostic in diagnostics {
        if !drawn.is_empty() {
            drawn.push('\n');
        }
        drawn.push_str(&draw(shown, n_skipped, path, diagnostic, &renderer));
        drawn.push('\n');
    }
    drawn
}

fn draw(shown: &str, n_skipped: usize, path: &str, diagnostic: &Diagnostic, renderer: &Renderer) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let place = |byte: usize| shown.floor_char_boundary(byte.saturating_sub(n_skipped));
    let span = place(diagnostic.span.start)..place(diagnostic.span.end);
    let snippet = Snippet::source(shown).path(path).annotation(AnnotationKind::Primary.span(span));
    let mut group =
        level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.as_str()).element(snippet);
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}
