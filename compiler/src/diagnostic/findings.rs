//! The bounded collection of diagnostics that the stages report to, sorted by position when it is read.

use std::cell::OnceCell;

use crate::codes::{Code, Severity};
use crate::diagnostic::{DIAGNOSTICS_MAX, Diagnostic};
use crate::span::{LineIndex, Position, Span};

#[derive(Debug)]
pub(crate) struct Diagnostics<'s> {
    script: &'s str,
    /// Built on the first lookup of a position.
    lines: OnceCell<LineIndex<'s>>,
    kept: Vec<CollectedDiagnostic>,
    /// Errors and warnings of the current stage. Each stage may fill the whole list, because earlier positions are
    /// shown first.
    n_errors: usize,
    n_warnings: usize,
}

#[derive(Debug)]
struct CollectedDiagnostic {
    code: Code,
    span: Span,
    message: String,
    help: Option<String>,
}

/// A handle for adding a help text to a diagnostic. Empty when the diagnostic was dropped.
pub(crate) struct DiagnosticBuilder<'a>(Option<&'a mut CollectedDiagnostic>);

impl<'s> Diagnostics<'s> {
    pub(crate) const fn new(script: &'s str) -> Self {
        Self { script, lines: OnceCell::new(), kept: Vec::new(), n_errors: 0, n_warnings: 0 }
    }

    /// Starts the next stage, with its own counters.
    pub(crate) const fn begin_stage(&mut self) {
        (self.n_errors, self.n_warnings) = (0, 0);
    }

    /// Adds a diagnostic, unless an error at the same position exists: the new one would only be its consequence.
    pub(crate) fn report(
        &mut self,
        code: Code,
        span: Span,
        message: impl FnOnce() -> String,
    ) -> DiagnosticBuilder<'_> {
        // Keeps one more than is shown, so that the result can report an overflow.
        if *self.count(code) > DIAGNOSTICS_MAX || self.has_error_at(span.start) {
            return DiagnosticBuilder(None);
        }
        *self.count(code) += 1;
        self.kept.push(CollectedDiagnostic { code, span, message: message(), help: None });
        DiagnosticBuilder(self.kept.last_mut())
    }

    fn count(&mut self, code: Code) -> &mut usize {
        match code.severity() {
            Severity::Error => &mut self.n_errors,
            Severity::Warning => &mut self.n_warnings,
        }
    }

    pub(crate) fn position(&self, byte: usize) -> Position {
        self.lines.get_or_init(|| LineIndex::new(self.script)).position(byte)
    }

    pub(crate) fn has_error(&self) -> bool {
        self.kept.iter().any(CollectedDiagnostic::is_error)
    }

    fn has_error_at(&self, start: usize) -> bool {
        self.kept.iter().any(|finding| finding.is_error() && finding.span.start == start)
    }

    /// Returns all diagnostics in script order, at most [`DIAGNOSTICS_MAX`] errors and the same number of warnings.
    pub(crate) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.kept.sort_by_key(|finding| (finding.span.start, finding.code.severity()));
        let (mut n_errors, mut n_warnings) = (0, 0);
        let mut diagnostics = Vec::new();
        for finding in std::mem::take(&mut self.kept) {
            let count = match finding.code.severity() {
                Severity::Error => &mut n_errors,
                Severity::Warning => &mut n_warnings,
            };
            *count += 1;
            if *count <= DIAGNOSTICS_MAX {
                diagnostics.push(finding.into_diagnostic(&self));
            } else if finding.is_error() {
                diagnostics.push(CollectedDiagnostic::one_too_many(finding.span).into_diagnostic(&self));
                break;
            }
        }
        diagnostics
    }
}

impl CollectedDiagnostic {
    fn is_error(&self) -> bool {
        self.code.severity() == Severity::Error
    }

    fn one_too_many(span: Span) -> Self {
        Self {
            code: Code::TooManyErrors,
            span,
            message: format!("only the first {DIAGNOSTICS_MAX} errors are shown"),
            help: Some("correct these errors, then compile again".to_owned()),
        }
    }

    fn into_diagnostic(self, findings: &Diagnostics<'_>) -> Diagnostic {
        let Position { line, column } = findings.position(self.span.start);
        Diagnostic {
            code: self.code,
            severity: self.code.severity(),
            line,
            column,
            end: findings.position(self.span.end),
            span: self.span.start..self.span.end,
            message: self.message,
            help: self.help,
        }
    }
}

impl DiagnosticBuilder<'_> {
    /// Returns the builder of a dropped diagnostic.
    pub(crate) const fn none() -> Self {
        DiagnosticBuilder(None)
    }

    pub(crate) fn help(self, help: impl FnOnce() -> String) {
        self.help_if(|| Some(help()));
    }

    pub(crate) fn help_if(self, help: impl FnOnce() -> Option<String>) {
        if let Some(finding) = self.0 {
            finding.help = help();
        }
    }
}
