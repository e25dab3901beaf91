//! The findings of `tollgate check`, as text, as JSON or as annotations of GitHub.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;
use tollgate_compiler::{Diagnostic, Severity, render};
use tollgate_guest_abi::{Cost, Manifest};
use tollgate_model::instruction::InstructionSource;

use crate::cli::say;

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckFormat {
    /// Text for people, on standard error.
    Text,
    /// One JSON object, on standard output.
    Json,
    /// Annotations of GitHub Actions, on standard output.
    GitHub,
}

/// An error or warning.
#[derive(Debug, Serialize)]
pub(super) struct CheckFinding {
    severity: Severity,
    /// `None` if it is about the command as a whole.
    file: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
    end_line: Option<usize>,
    end_column: Option<usize>,
    /// The code of a diagnostic, or the name of an admission check.
    code: Option<String>,
    message: String,
    help: Option<String>,
}

/// A rule or module without errors.
#[derive(Debug, Serialize)]
struct CheckedRuleFile {
    file: String,
    rules: Vec<NamedVerdict>,
    cost: Cost,
}

#[derive(Debug, Serialize)]
struct NamedVerdict {
    name: String,
    verdict: String,
}

/// Collects the findings, and prints them in the form that was asked for.
#[derive(Debug)]
pub(super) struct CheckReport {
    format: CheckFormat,
    findings: RefCell<Vec<CheckFinding>>,
    checked: RefCell<Vec<CheckedRuleFile>>,
    /// The file of each rule that was checked.
    names: RefCell<BTreeMap<String, String>>,
    /// The sources of the rules that the policy grants.
    sources: RefCell<Vec<InstructionSource>>,
}

/// The JSON form.
#[derive(Serialize)]
struct JsonReport<'a> {
    files: usize,
    files_with_errors: usize,
    errors: usize,
    warnings: usize,
    checked: &'a [CheckedRuleFile],
    findings: &'a [CheckFinding],
}

impl CheckFinding {
    /// Creates an error, about a file or about the command as a whole.
    pub(super) fn error(file: Option<&str>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            file: file.map(str::to_owned),
            line: None,
            column: None,
            end_line: None,
            end_column: None,
            code: None,
            message: message.into(),
            help: None,
        }
    }

    pub(super) fn warning(file: Option<&str>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(file, message) }
    }

    pub(super) fn at_line(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }

    pub(super) fn with_code(self, code: impl Into<String>) -> Self {
        Self { code: Some(code.into()), ..self }
    }

    fn of_diagnostic(file: &str, diagnostic: &Diagnostic) -> Self {
        Self {
            severity: diagnostic.severity,
            file: Some(file.to_owned()),
            line: Some(diagnostic.line),
            column: Some(diagnostic.column),
            end_line: Some(diagnostic.end.line),
            end_column: Some(diagnostic.end.column),
            code: Some(diagnostic.code.as_str().to_owned()),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
        }
    }

    const fn word(&self) -> &'static str {
        match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }

    /// Returns the finding in one line of text.
    fn text(&self) -> String {
        let code = self.code.as_ref().map(|code| format!("[{code}]")).unwrap_or_default();
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let location = self.file.as_ref().map(|file| format!("{file}{line}: ")).unwrap_or_default();
        format!("{}{code}: {location}{}", self.word(), self.message)
    }

    /// Returns the finding as a workflow command of GitHub Actions.
    fn annotation(&self) -> String {
        let number = |name: &str, number: Option<usize>| number.map(|number| format!("{name}={number}"));
        let properties = [
            self.file.as_ref().map(|file| format!("file={}", escaped_property(file))),
            number("line", self.line),
            number("endLine", self.end_line),
            number("col", self.column),
            self.code.as_ref().map(|code| format!("title={}", escaped_property(code))),
        ];
        let properties = properties.into_iter().flatten().collect::<Vec<_>>().join(",");
        let blank = if properties.is_empty() { "" } else { " " };
        let help = self.help.as_ref().map(|help| format!("\n{help}")).unwrap_or_default();
        format!("::{}{blank}{properties}::{}", self.word(), escaped(&format!("{}{help}", self.message)))
    }
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escaped_property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

impl CheckReport {
    pub(super) fn new(format: CheckFormat) -> Self {
        Self {
            format,
            findings: RefCell::default(),
            checked: RefCell::default(),
            names: RefCell::default(),
            sources: RefCell::default(),
        }
    }

    /// Prints a line that is no finding.
    pub(super) fn say(&self, line: &str) {
        if self.format == CheckFormat::Text {
            say(line);
        }
    }

    pub(super) fn add(&self, finding: CheckFinding) {
        self.say(&finding.text());
        self.findings.borrow_mut().push(finding);
    }

    /// Adds the diagnostics of a script.
    pub(super) fn add_diagnostics(&self, file: &str, script: &str, diagnostics: &[Diagnostic]) {
        if !diagnostics.is_empty() {
            self.say(&render(script, file, diagnostics, io::stderr().is_terminal()));
        }
        let findings = diagnostics.iter().map(|diagnostic| CheckFinding::of_diagnostic(file, diagnostic));
        self.findings.borrow_mut().extend(findings);
    }

    /// Adds a rule file without errors. Returns whether no earlier file has a rule of the same name.
    pub(super) fn add_rules(&self, file: &str, manifest: &Manifest) -> bool {
        let mut is_new = true;
        for rule in &manifest.rules {
            let first = self.names.borrow().get(&rule.name).cloned();
            if let Some(first) = first {
                let message =
                    format!("the rule `{}` is already defined in {first}, which keeps the name", rule.name);
                self.add(CheckFinding::error(Some(file), message));
                is_new = false;
            } else {
                self.names.borrow_mut().insert(rule.name.clone(), file.to_owned());
            }
        }
        let rules = manifest.rules.iter();
        let rules =
            rules.map(|rule| NamedVerdict { name: rule.name.clone(), verdict: rule.verdict.to_string() });
        self.checked.borrow_mut().push(CheckedRuleFile {
            file: file.to_owned(),
            rules: rules.collect(),
            cost: manifest.cost,
        });
        is_new
    }

    pub(super) fn sources(&self) -> Vec<InstructionSource> {
        self.sources.borrow().clone()
    }

    pub(super) fn add_source(&self, source: InstructionSource) {
        self.sources.borrow_mut().push(source);
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings.borrow().iter().filter(|finding| finding.severity == severity).count()
    }

    pub(super) fn n_errors(&self) -> usize {
        self.count(Severity::Error)
    }

    pub(super) fn n_warnings(&self) -> usize {
        self.count(Severity::Warning)
    }

    /// Prints what is printed at the end.
    pub(super) fn finish(&self, n_files: usize, n_bad: usize) {
        let findings = self.findings.borrow();
        let text = match self.format {
            CheckFormat::Text => return,
            CheckFormat::Json => serde_json::to_string_pretty(&JsonReport {
                files: n_files,
                files_with_errors: n_bad,
                errors: self.n_errors(),
                warnings: self.n_warnings(),
                checked: &self.checked.borrow(),
                findings: &findings,
            })
            .unwrap_or_default(),
            CheckFormat::GitHub => {
                findings.iter().map(CheckFinding::annotation).collect::<Vec<_>>().join("\n")
            }
        };
        // If nobody reads, the exit code still reports the result.
        io::stdout().write_all(format!("{text}\n").as_bytes()).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_escapes_what_would_end_it() {
        let finding = CheckFinding::error(Some("a,b:c.ws"), "50 %\nof").at_line(Some(3)).with_code("E1");
        assert_eq!(finding.annotation(), "::error file=a%2Cb%3Ac.ws,line=3,title=E1::50 %25%0Aof");
        assert_eq!(CheckFinding::warning(None, "x").annotation(), "::warning::x");
        assert_eq!(finding.text(), "error[E1]: a,b:c.ws:3: 50 %\nof");
    }
}
