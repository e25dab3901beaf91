//! Characters that are forbidden everywhere in a script. In a name, a string or a comment they could make a script look
//! different to a reviewer.

use crate::codes::Code;
use crate::diagnostic::{Diagnostics, is_forbidden};
use crate::span::Span;

/// Reports each run of forbidden characters once.
pub(super) fn report_all(script: &str, findings: &mut Diagnostics<'_>) {
    let mut open: Option<(Span, char)> = None;
    for (at, character) in script.char_indices() {
        if is_forbidden(character) {
            let end = at + character.len_utf8();
            match &mut open {
                Some((span, _)) => span.end = end,
                None => open = Some((Span::new(at, end), character)),
            }
        } else if let Some((span, first)) = open.take() {
            report(span, first, findings);
        }
    }
    if let Some((span, first)) = open {
        report(span, first, findings);
    }
}

fn report(span: Span, first: char, findings: &mut Diagnostics<'_>) {
    let code_point = u32::from(first);
    let kind = if first.is_control() { "control character" } else { "invisible text-direction character" };
    findings
        .report(Code::ForbiddenCharacter, span, || format!("{kind} U+{code_point:04X} is not allowed"))
        .help(|| "delete it; it is refused in strings and comments too".to_owned());
}
