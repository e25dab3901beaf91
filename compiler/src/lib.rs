//! Compiles rule scripts to WebAssembly modules.
//!
//! ```text
//!  script ──lex──▶ tokens ──parse──▶ AST ──check──▶ checked rule ──emit──▶ module + manifest
//!                     └────────────────┴──────────────┴──▶ diagnostics
//! ```
//!
//! The compiler is pure: it takes text and returns modules, manifests and diagnostics. It has no IO, no clock and no
//! access to the environment. Lexing, parsing and checking cannot fail: they return what they understood and report the
//! rest.

mod ast;
mod check;
mod checked;
mod codes;
mod currencies;
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
pub use diagnostic::{DIAGNOSTICS_MAX, Diagnostic, headline, nearest_within};
pub use render::render;
pub use span::{Position, position};
pub use stated_time::StatedTime;

use diagnostic::Diagnostics;
use span::Span;

/// The environment of a compilation.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompileOptions<'a> {
    /// The existing named lists; `None` when unknown, which disables the warning about unknown lists.
    pub named_lists: Option<&'a BTreeSet<String>>,
    /// The available time zone names; `None` for those of the compiled-in database.
    pub zones: Option<&'a BTreeSet<String>>,
    /// Words that payments have as currencies, besides those of ISO 4217.
    pub currencies: Option<&'a BTreeSet<String>>,
}

/// The result of compiling a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Compilation {
    /// The rule; present exactly when no diagnostic is an error.
    pub rule: Option<CheckedRule>,
    /// Errors and warnings, in script order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Compiles a script. Never fails and never panics on any text. The work is bounded by the length of the text, and the
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

/// Returns the diagnostic for a script over its limit; only text up to the limit is read.
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
        .help(|| "move long lists into named lists, which are kept beside the rules".to_owned());
    findings.into_diagnostics()
}
