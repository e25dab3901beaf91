//! What a check has to say.

use std::fmt;

/// Most findings that are listed: after so many the author has enough to do.
const FINDINGS_MAX: usize = 50;

/// A check of a module that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionFinding {
    /// Which check: a stable word.
    pub check: &'static str,
    /// Where in the module, in bytes; `None` where no place is at fault.
    pub offset: Option<usize>,
    /// What is wrong, for people; one line.
    pub message: String,
}

/// Why a module is not let in: every check that failed, at least one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct AdmissionRefusal {
    /// In the order of the bytes, as far as they have a place.
    pub findings: Vec<AdmissionFinding>,
}

/// The named checks.
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

/// What the checks have found so far.
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

    /// One more than the limit is a finding.
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
    /// With this one finding.
    #[must_use]
    pub(in crate::sandbox) fn of(check: AdmissionCheck, message: &str) -> Self {
        // Whoever said it may have taken several lines for it.
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ").escape_debug().to_string();
        Self { findings: vec![AdmissionFinding { check: check.as_str(), offset: None, message }] }
    }

    /// Of a module that could not be compiled; for people, one line.
    #[must_use]
    pub fn of_compilation(message: &str) -> Self {
        Self::of(AdmissionCheck::Compilation, message)
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
