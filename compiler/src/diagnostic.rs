//! Diagnostics: errors and warnings about a script, with their locations.

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
pub use spelling::nearest_within;

/// Most errors shown per script, and most warnings.
pub const DIAGNOSTICS_MAX: usize = 50;

/// An error or a warning about a script.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The stable code, for programs.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "E201"))]
    pub code: Code,
    /// Whether this is an error or a warning.
    pub severity: Severity,
    /// Start line, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub line: usize,
    /// Start column, from 1, in characters.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub column: usize,
    /// Position after the last character.
    pub end: Position,
    /// The same range in bytes of the script.
    #[serde(skip)]
    pub span: Range<usize>,
    /// Description of the problem, on one line.
    pub message: String,
    /// How to fix the problem, where known.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub help: Option<String>,
}

impl Diagnostic {
    /// Returns the fixed form of errors: `parse error at line <n>, column <n>: <description>`.
    #[must_use]
    pub fn headline(&self) -> String {
        let kind = match self.severity {
            Severity::Error => "parse error",
            Severity::Warning => "warning",
        };
        format!("{kind} at line {}, column {}: {}", self.line, self.column, self.message)
    }
}

/// Returns the headline of the first error; empty when there is none.
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
