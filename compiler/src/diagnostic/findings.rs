//! Where the stages put what they find; bounded, and in the order of the script when it is read.

use std::cell::OnceCell;

use crate::codes::{Code, Severity};
use crate::diagnostic::{DIAGNOSTICS_MAX, Diagnostic};
use crate::span::{LineIndex, Position, Span};

/// The complaints about one script so far.
#[derive(Debug)]
pub(crate) struct Diagnostics<'s> {
    script: &'s str,
    /// Looked up only by those who complain.
    lines: OnceCell<LineIndex<'s>>,
    kept: Vec<CollectedDiagnostic>,
    /// Errors and warnings of the stage at work; each stage may fill the whole list, since an earlier place goes first.
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

/// A complaint just made, to add a cure to. Empty when it was one too many to be kept.
pub(crate) struct DiagnosticBuilder<'a>(Option<&'a mut CollectedDiagnostic>);

impl<'s> Diagnostics<'s> {
    pub(crate) const fn new(script: &'s str) -> Self {
        Self { script, lines: OnceCell::new(), kept: Vec::new(), n_errors: 0, n_warnings: 0 }
    }

    /// The next stage begins, with a list of its own to fill.
    pub(crate) const fn begin_stage(&mut self) {
        (self.n_errors, self.n_warnings) = (0, 0);
    }

    /// Makes a complaint, unless an error stands at its place already: the second one would only follow from the first.
    pub(crate) fn report(
        &mut self,
        code: Code,
        span: Span,
        message: impl FnOnce() -> String,
    ) -> DiagnosticBuilder<'_> {
        // One more than is shown, so that the end knows that some are not.
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

    /// The place of a byte, as an author finds it.
    pub(crate) fn position(&self, byte: usize) -> Position {
        self.lines.get_or_init(|| LineIndex::of(self.script)).position(byte)
    }

    /// Whether there is an error among them.
    pub(crate) fn has_error(&self) -> bool {
        self.kept.iter().any(CollectedDiagnostic::is_error)
    }

    fn has_error_at(&self, start: usize) -> bool {
        self.kept.iter().any(|finding| finding.is_error() && finding.span.start == start)
    }

    /// All of them in the order of the script, at most [`DIAGNOSTICS_MAX`] errors and as many warnings.
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
                diagnostics.push(finding.place(&self));
            } else if finding.is_error() {
                diagnostics.push(CollectedDiagnostic::one_too_many(finding.span).place(&self));
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
            help: Some("cure those, then compile again".to_owned()),
        }
    }

    fn place(self, findings: &Diagnostics<'_>) -> Diagnostic {
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
    /// Of a complaint that was not made.
    pub(crate) const fn none() -> Self {
        DiagnosticBuilder(None)
    }

    /// How it could be cured.
    pub(crate) fn help(self, help: impl FnOnce() -> String) {
        self.help_if(|| Some(help()));
    }

    /// How it could be cured, when that is known.
    pub(crate) fn help_if(self, help: impl FnOnce() -> Option<String>) {
        if let Some(finding) = self.0 {
            finding.help = help();
        }
    }
}
