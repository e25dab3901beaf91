//! A complaint to a script's author, with a place. Data, never an error of ours.

mod findings;
mod quote;
mod spelling;

use std::fmt;
use std::ops::Range;

use serde::Serialize;

use crate::codes::{Code, Severity};
use crate::span::Position;

pub(crate) use findings::{DiagnosticBuilder, Diagnostics};
pub(crate) use quote::{is_forbidden, quote};
pub(crate) use spelling::nearest;

/// Most errors of a script that are shown, and most warnings.
pub const DIAGNOSTICS_MAX: usize = 50;

/// One complaint about a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// What is wrong, for machines; stable.
    pub code: Code,
    /// Whether it keeps the rule from being saved.
    pub severity: Severity,
    /// Where the offending text begins: the line, from 1.
    pub line: usize,
    /// And the column, from 1, in characters.
    pub column: usize,
    /// The place behind its last character.
    pub end: Position,
    /// The same stretch in bytes of the script.
    #[serde(skip)]
    pub span: Range<usize>,
    /// What is wrong, for people; one line.
    pub message: String,
    /// How it could be cured, where that is known.
    pub help: Option<String>,
}

impl Diagnostic {
    /// The fixed form of errors: `parse error at line <n>, column <n>: <description>`.
    #[must_use]
    pub fn headline(&self) -> String {
        let kind = match self.severity {
            Severity::Error => "parse error",
            Severity::Warning => "warning",
        };
        format!("{kind} at line {}, column {}: {}", self.line, self.column, self.message)
    }
}

/// The headline of the first error among these; empty when there is none.
#[must_use]
pub fn headline(diagnostics: &[Diagnostic]) -> String {
    let mut errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    errors.next().map(Diagnostic::headline).unwrap_or_default()
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())
    }
}
