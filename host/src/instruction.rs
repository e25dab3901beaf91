//! A script as it is stored and served.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tollgate_compiler::Diagnostic;
use tollgate_guest_abi::{Cost, RuleEntry};

/// Names an instruction for ever; never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstructionId(pub i64);

impl fmt::Display for InstructionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where an instruction comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum InstructionSource {
    /// Saved over the API.
    Api,
    /// A file of the rules directory.
    File {
        /// Relative to that directory, with `/` between its parts.
        path: String,
    },
}

/// SHA-256 of a module's or a list's bytes.
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

/// What is kept of an instruction. All else (rule, cost, verdict, warnings) follows from the script.
#[derive(Debug, Clone, PartialEq)]
pub struct InstructionRecord {
    /// Its identity.
    pub id: InstructionId,
    /// The rule's name; unique among the instructions in force.
    pub name: String,
    /// As written.
    pub script: String,
    /// Where it comes from.
    pub source: InstructionSource,
    /// The module of this one rule.
    pub module: Vec<u8>,
    /// When it was first saved.
    pub created_at: DateTime<Utc>,
    /// When its script last changed.
    pub updated_at: DateTime<Utc>,
}

/// An instruction in force, with all that follows from its script.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// What is kept of it.
    pub record: InstructionRecord,
    /// Name, description, verdict, score, reason.
    pub entry: RuleEntry,
    /// The checked rule as JSON.
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
