//! Findings of the admission checks.

use std::fmt;

const FINDINGS_MAX: usize = 50;

/// A failed check of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionFinding {
    /// Stable name of the check.
    pub check: &'static str,
    /// Byte offset in the module; `None` if the finding has no location.
    pub offset: Option<usize>,
    /// Description of the problem, on one line.
    pub message: String,
}

/// The reason a module is refused: the failed checks, at least one and at most 50.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct AdmissionRefusal {
    /// Findings in the order in which the checks ran.
    pub findings: Vec<AdmissionFinding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sandbox) enum AdmissionCheck {
    Size,
    Format,
    Features,
    Sections,
    Types,
    Imports,
    Functions,
    Body,
    Locals,
    Blocks,
    Branches,
    Exports,
    Start,
    Memory,
    Table,
    Globals,
    Data,
    Elements,
    Manifest,
    Compilation,
}

impl AdmissionCheck {
    pub(in crate::sandbox) const fn as_str(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Format => "format",
            Self::Features => "features",
            Self::Sections => "sections",
            Self::Types => "types",
            Self::Imports => "imports",
            Self::Functions => "functions",
            Self::Body => "body",
            Self::Locals => "locals",
            Self::Blocks => "blocks",
            Self::Branches => "branches",
            Self::Exports => "exports",
            Self::Start => "start",
            Self::Memory => "memory",
            Self::Table => "table",
            Self::Globals => "globals",
            Self::Data => "data",
            Self::Elements => "elements",
            Self::Manifest => "manifest",
            Self::Compilation => "compilation",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct AdmissionFindings {
    found: Vec<AdmissionFinding>,
}

impl AdmissionFindings {
    pub(super) const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn add(
        &mut self,
        check: AdmissionCheck,
        offset: Option<usize>,
        message: impl FnOnce() -> String,
    ) {
        if self.found.len() < FINDINGS_MAX {
            let message = message().escape_debug().to_string();
            self.found.push(AdmissionFinding { check: check.as_str(), offset, message });
        }
    }

    /// Adds a finding if `n` exceeds the limit.
    pub(super) fn limit(&mut self, check: AdmissionCheck, offset: usize, what: &str, n: u64, n_max: u64) {
        if n > n_max {
            self.add(check, Some(offset), || format!("{what}: {n}, at most {n_max} are allowed"));
        }
    }

    pub(super) fn into_refusal(self) -> AdmissionRefusal {
        AdmissionRefusal { findings: self.found }
    }
}

impl AdmissionRefusal {
    #[must_use]
    pub(in crate::sandbox) fn new(check: AdmissionCheck, message: &str) -> Self {
        // The message may have several lines.
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ").escape_debug().to_string();
        Self { findings: vec![AdmissionFinding { check: check.as_str(), offset: None, message }] }
    }

    /// Creates the refusal of a module that could not be compiled; the message is reduced to one line.
    #[must_use]
    pub fn of_compilation(message: &str) -> Self {
        Self::new(AdmissionCheck::Compilation, message)
    }
}

impl fmt::Display for AdmissionFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.message)?;
        match self.offset {
            Some(offset) => write!(f, " (at byte {offset})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for AdmissionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the module is refused: ")?;
        for (i, finding) in self.findings.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            finding.fmt(f)?;
        }
        Ok(())
    }
}
