//! What an author wrote, a script or a module, as it is stored and served.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tollgate_compiler::Diagnostic;
use tollgate_guest_abi::limits::{FUEL_PER_RUN, HOST_CALLS_MAX, MEMORY_PAGES_MAX};
use tollgate_guest_abi::{Cost, RuleEntry};

/// Bytes of a page of WebAssembly memory.
pub const PAGE_BYTES: u64 = 64 * 1024;

/// Names an instruction for ever; never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstructionId(pub i64);

impl fmt::Display for InstructionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where an instruction or a named list comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum InstructionSource {
    /// Saved over the API.
    Api,
    /// A module sent over the API.
    Upload,
    /// A file of the rules directory.
    File {
        /// Relative to that directory, with `/` between its parts.
        path: String,
    },
    /// A file of a Git repository.
    Git {
        /// Relative to the top of the repository, with `/` between its parts.
        path: String,
        /// With which commit its text came into force, in hexadecimal digits.
        commit: String,
    },
}

impl InstructionSource {
    /// Whether it came over the API, as a script or as a module.
    #[must_use]
    pub const fn is_over_api(&self) -> bool {
        matches!(self, Self::Api | Self::Upload)
    }

    /// The path of the file; `None` for what came over the API.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Api | Self::Upload => None,
            Self::File { path } | Self::Git { path, .. } => Some(path),
        }
    }
}

/// For people, behind the words "comes from" or "taken by".
impl fmt::Display for InstructionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api => f.write_str("the API"),
            Self::Upload => f.write_str("an upload"),
            Self::File { path } => write!(f, "the file `{path}`"),
            Self::Git { path, .. } => write!(f, "the file `{path}` of the Git repository"),
        }
    }
}

/// Whether an instruction takes part in verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionStatus {
    /// Transactions are judged by it.
    Active,
    /// It is saved as soon as the history can answer what it asks.
    Activating,
    /// It is not run, and transactions are held for review in its place.
    Quarantined,
}

impl InstructionStatus {
    /// That of an instruction in force.
    #[must_use]
    pub const fn of(record: &InstructionRecord) -> Self {
        if record.quarantine.is_some() { Self::Quarantined } else { Self::Active }
    }

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Activating => "activating",
            Self::Quarantined => "quarantined",
        }
    }
}

/// SHA-256 of a script's, a module's or a list's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest(pub [u8; 32]);

impl ContentDigest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What an author wrote, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleContent {
    /// The text of a script.
    Script(String),
    /// A module that another compiler made, its manifest inside.
    Module(Vec<u8>),
}

impl RuleContent {
    /// As a file holds it.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Script(script) => script.as_bytes(),
            Self::Module(module) => module,
        }
    }

    /// The text of a script.
    #[must_use]
    pub fn script(&self) -> Option<&str> {
        match self {
            Self::Script(script) => Some(script),
            Self::Module(_) => None,
        }
    }
}

/// What is kept of an instruction. All else (rule, cost, verdict, warnings) follows from the script, or from the module
/// where there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct InstructionRecord {
    /// Its identity.
    pub id: InstructionId,
    /// The rule's name; unique among the instructions in force.
    pub name: String,
    /// As written; `None` when its author wrote a module.
    pub script: Option<String>,
    /// Where it comes from.
    pub source: InstructionSource,
    /// The module of this one rule.
    pub module: Vec<u8>,
    /// When it was first saved.
    pub created_at: DateTime<Utc>,
    /// When its script, or its module, last changed.
    pub updated_at: DateTime<Utc>,
    /// Why it is not run, if it is not.
    pub quarantine: Option<Quarantine>,
    /// On what terms its module runs; `None` of what an earlier version of the service kept, which did not note them.
    pub origin: Option<Origin>,
}

/// The author of a module, and what the module may use. Part of a version of the rule set, because verdicts depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "made_by", rename_all = "lowercase")]
pub enum Origin {
    /// The compiler of Tollgate: such a module keeps no state, does not loop, and is as long as its rule.
    Compiler,
    /// An author who is not trusted, with the limits of the module.
    #[serde(rename = "stranger")]
    Untrusted(Grant),
    /// No module: the stored one is not admitted any more.
    Nobody,
}

/// What an untrusted module may use on one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Grant {
    /// Fuel: instructions, and the cost of host calls.
    pub fuel: u64,
    /// The number of host calls.
    pub host_calls: u32,
    /// Memory, in bytes.
    pub memory_bytes: u64,
}

impl Default for Grant {
    fn default() -> Self {
        Self { fuel: FUEL_PER_RUN, host_calls: HOST_CALLS_MAX, memory_bytes: MEMORY_PAGES_MAX * PAGE_BYTES }
    }
}

impl Origin {
    /// The limits of an untrusted module; `None` for every other origin.
    #[must_use]
    pub const fn grant(self) -> Option<Grant> {
        match self {
            Self::Compiler | Self::Nobody => None,
            Self::Untrusted(grant) => Some(grant),
        }
    }
}

/// Out of the way until somebody acts: the rule is not run, and every transaction is held for review in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// Since when.
    pub since: DateTime<Utc>,
    /// By what.
    pub cause: QuarantineCause,
    /// For people; one line.
    pub reason: String,
}

/// What brings a rule into quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuarantineCause {
    /// It failed again and again.
    Failures,
    /// The operator's policy does not grant what it needs any more.
    Policy,
    /// Its module is not let in any more: there is nothing to run.
    Module,
}

impl QuarantineCause {
    /// Whether each start, and each new version, finds out anew if the cause is still there.
    #[must_use]
    pub const fn is_found_anew(self) -> bool {
        matches!(self, Self::Policy | Self::Module)
    }
}

impl InstructionRecord {
    /// What its author wrote, as a file would hold it.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        self.script.as_ref().map_or(&self.module[..], |script| script.as_bytes())
    }

    /// Whether this is what its author wrote, to the byte.
    #[must_use]
    pub fn is_written_as(&self, content: &RuleContent) -> bool {
        self.script.as_deref() == content.script() && self.written() == content.bytes()
    }
}

/// An instruction in force, with all that follows from its script or module.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// What is kept of it.
    pub record: Arc<InstructionRecord>,
    /// Name, description, verdict, score, reason.
    pub entry: RuleEntry,
    /// The checked rule as JSON; null when there is no script, or none that compiles today.
    pub rule: serde_json::Value,
    /// Of the module's bytes.
    pub digest: ContentDigest,
    /// The contract the module was written to.
    pub abi_version: u32,
    /// Worst case of one evaluation.
    pub cost: Cost,
    /// What the compiler had to say all the same.
    pub warnings: Vec<Diagnostic>,
}
