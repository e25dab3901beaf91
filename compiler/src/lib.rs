//! Rule scripts to WebAssembly modules.
//!
//! ```text
//!  script ──lex──▶ tokens ──parse──▶ AST ──check──▶ checked rule ──emit──▶ module + manifest
//!                     └────────────────┴──────────────┴──▶ diagnostics
//! ```
//!
//! Pure: text in; modules, manifest and diagnostics out. No IO, no clock, no environment. Lexing, parsing and checking
//! cannot fail: they give what they understood and list what they did not.

mod ast;
mod check;
mod checked;
mod codes;
mod diagnostic;
pub mod emit;
pub mod from_watch;
#[cfg(test)]
mod golden;
mod lex;
mod parse;
mod render;
mod span;
mod stated_time;

use std::collections::BTreeSet;

use tollgate_guest_abi::limits::SCRIPT_BYTES_MAX;

pub use checked::CheckedRule;
pub use codes::{Code, Severity};
pub use diagnostic::{DIAGNOSTICS_MAX, Diagnostic, headline};
pub use render::render;
pub use span::{Position, position};
pub use stated_time::StatedTime;

use diagnostic::Diagnostics;
use span::Span;

/// What is known of the world around a script.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompileOptions<'a> {
    /// The named lists there are; `None` when that is not known, and then no list is called unknown.
    pub named_lists: Option<&'a BTreeSet<String>>,
    /// The names of time zones there are; `None` for those of the data that is compiled in.
    pub zones: Option<&'a BTreeSet<String>>,
}

/// What became of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Compilation {
    /// The rule; there is one exactly when no diagnostic is an error.
    pub rule: Option<CheckedRule>,
    /// What there is to say about the script, in its order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Understands a script. Never fails and never panics, whatever the text; the work is bounded by its length, and the
/// stack by [`NESTING_MAX`](tollgate_guest_abi::limits::NESTING_MAX).
#[must_use]
pub fn compile(script: &str, options: &CompileOptions<'_>) -> Compilation {
    if script.len() > SCRIPT_BYTES_MAX {
        return Compilation { rule: None, diagnostics: too_long(script) };
    }
    let mut findings = Diagnostics::new(script);
    let tokens = lex::lex(script, &mut findings);
    findings.begin_stage();
    let rule = parse::parse(script, &tokens, &mut findings);
    findings.begin_stage();
    let rule = check::check(script, &rule, options, &mut findings);
    Compilation { rule, diagnostics: findings.into_diagnostics() }
}

/// The one complaint about a script over its limit, of which no more is looked at than the limit allows.
fn too_long(script: &str) -> Vec<Diagnostic> {
    let limit = script.floor_char_boundary(SCRIPT_BYTES_MAX);
    let mut findings = Diagnostics::new(script.get(..limit).unwrap_or_default());
    findings
        .report(codes::Code::ScriptTooLong, Span::new(limit, limit), || {
            format!(
                "the script is too long: it has {} bytes, at most {SCRIPT_BYTES_MAX} are read",
                script.len()
            )
        })
        .help(|| "keep long lists as named lists, beside the rules".to_owned());
    findings.into_diagnostics()
}
