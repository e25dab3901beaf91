//! Instructions: scripts and modules as authors wrote them, stored and served by the API.

pub mod ignored;

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tollgate_compiler::{CheckedRule, Diagnostic};
use tollgate_guest_abi::limits::{FUEL_PER_OWNER, FUEL_PER_RUN, HOST_CALLS_MAX, MEMORY_PAGES_MAX};
use tollgate_guest_abi::{Cost, RuleEntry};
use utoipa::ToSchema;

/// Bytes of a page of WebAssembly memory.
pub const PAGE_BYTES: u64 = 64 * 1024;

/// The permanent id of an instruction. It is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstructionId(pub i64);

impl fmt::Display for InstructionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The origin of an instruction or a named list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum InstructionSource {
    /// Saved through the API.
    Api,
    /// A module uploaded through the API.
    Upload,
    /// A file of the rules directory.
    File {
        /// Path relative to that directory, separated by `/`.
        path: String,
    },
    /// A file of a Git repository.
    Git {
        /// Path relative to the root of the repository, separated by `/`.
        path: String,
        /// Commit whose content is in force, in hexadecimal.
        commit: String,
    },
}

impl InstructionSource {
    /// Returns whether it came through the API, as a script or as a module.
    #[must_use]
    pub const fn is_over_api(&self) -> bool {
        matches!(self, Self::Api | Self::Upload)
    }

    /// Returns the path of the file, or `None` for the API.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Api | Self::Upload => None,
            Self::File { path } | Self::Git { path, .. } => Some(path),
        }
    }
}

/// A description for people that follows the words "comes from" or "taken by".
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

/// The status of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionStatus {
    /// It is evaluated on every transaction.
    Active,
    /// It is saved once the history covers its lookups.
    Activating,
    /// It is not run; every transaction is held for review instead.
    Quarantined,
    /// As quarantined, because the history has no memory for what it asks.
    Suspended,
}

impl InstructionStatus {
    /// Returns the status of an instruction in force.
    #[must_use]
    pub const fn of_record(record: &InstructionRecord) -> Self {
        match &record.quarantine {
            None => Self::Active,
            Some(Quarantine { cause: QuarantineCause::Memory, .. }) => Self::Suspended,
            Some(_) => Self::Quarantined,
        }
    }

    /// Returns the name used on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Activating => "activating",
            Self::Quarantined => "quarantined",
            Self::Suspended => "suspended",
        }
    }
}

/// The SHA-256 digest of a script, a module or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest(pub [u8; 32]);

impl ContentDigest {
    /// Returns the digest of these bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The content of a rule as its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleContent {
    /// Script text.
    Script(String),
    /// A module from another compiler, with its manifest inside.
    Module(Vec<u8>),
}

impl RuleContent {
    /// Returns the bytes as in a file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Script(script) => script.as_bytes(),
            Self::Module(module) => module,
        }
    }

    /// Returns the text of a script.
    #[must_use]
    pub fn script(&self) -> Option<&str> {
        match self {
            Self::Script(script) => Some(script),
            Self::Module(_) => None,
        }
    }
}

/// The stored form of an instruction. Everything else (rule, cost, verdict, warnings) is derived from the script, or
/// from the module if there is no script.
#[derive(Debug, Clone, PartialEq)]
pub struct InstructionRecord {
    /// Id of the instruction.
    pub id: InstructionId,
    /// Rule name, unique among the instructions in force.
    pub name: String,
    /// Script as written; `None` if its author wrote a module.
    pub script: Option<String>,
    /// Origin of the instruction.
    pub source: InstructionSource,
    /// Module of this rule.
    pub module: Vec<u8>,
    /// Time of the first save.
    pub created_at: DateTime<Utc>,
    /// Time of the last change to the script or module.
    pub updated_at: DateTime<Utc>,
    /// Quarantine, if the rule is not run.
    pub quarantine: Option<Quarantine>,
    /// Author and limits of the module; `None` if an earlier version of the service stored it, which did not note them.
    pub origin: Option<Origin>,
    /// The owner of the rule; `None` before rules had owners.
    pub owner: Option<RuleOwner>,
}

/// The owner of some rules, which share a ceiling on each transaction. Part of a rule set version because verdicts
/// depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RuleOwner {
    /// The source of the rules, such as `api`; with the start of the paths, for some files: `git:teams/a/`.
    pub name: Arc<str>,
    /// The most that all its rules may use on one transaction, in fuel.
    pub fuel: u64,
    /// The most that they may use on average, in fuel, while transactions wait; `None` without such a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained_fuel: Option<u64>,
}

impl Default for RuleOwner {
    fn default() -> Self {
        Self { name: "".into(), fuel: FUEL_PER_OWNER, sustained_fuel: None }
    }
}

/// The terms on which a module runs: its maker and its limits per transaction. They are part of a rule set version
/// because verdicts depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "made_by", rename_all = "lowercase")]
pub enum Origin {
    /// The compiler made the module, so its rule bounds its cost.
    Compiler,
    /// A third party made the module and is granted these limits.
    #[serde(rename = "stranger")]
    Untrusted(Grant),
    /// The module is no longer admitted, so there is nothing to run.
    Nobody,
}

/// Limits of an untrusted module on one transaction.
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
    /// Returns the limits of an untrusted module; `None` for every other origin.
    #[must_use]
    pub const fn grant(self) -> Option<Grant> {
        match self {
            Self::Compiler | Self::Nobody => None,
            Self::Untrusted(grant) => Some(grant),
        }
    }
}

/// The quarantine of a rule, until somebody acts. The rule is not run; every transaction is held for review instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// Start of the quarantine.
    pub since: DateTime<Utc>,
    /// Cause of the quarantine.
    pub cause: QuarantineCause,
    /// Explanation for people, on one line.
    pub reason: String,
}

/// The cause of a quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuarantineCause {
    /// The rule failed repeatedly.
    Failures,
    /// The operator's policy no longer grants what the rule needs.
    Policy,
    /// The module is no longer admitted, so there is nothing to run.
    Module,
    /// The rules of its owner kept taking too long while other transactions waited.
    #[serde(rename = "sustained_cost")]
    SustainedCost,
    /// The history has no memory for what the rule asks.
    Memory,
    /// There is no rule: the file was refused when its source was new.
    Refused,
}

impl QuarantineCause {
    /// Returns whether the cause is checked again at every start and for every new version.
    #[must_use]
    pub const fn is_found_again(self) -> bool {
        matches!(self, Self::Policy | Self::Module)
    }
}

impl InstructionRecord {
    /// Returns the bytes that the author wrote, as in a file.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        self.script.as_ref().map_or(&self.module[..], |script| script.as_bytes())
    }

    /// Returns whether this stands for a refused file of a source that was new.
    #[must_use]
    pub fn is_refused_file(&self) -> bool {
        self.quarantine.as_ref().is_some_and(|quarantine| quarantine.cause == QuarantineCause::Refused)
    }

    /// Returns whether the author wrote exactly this content.
    #[must_use]
    pub fn is_written_as(&self, content: &RuleContent) -> bool {
        self.script.as_deref() == content.script() && self.written() == content.bytes()
    }
}

/// An instruction in force, with everything derived from its script or module.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// Stored form.
    pub record: Arc<InstructionRecord>,
    /// Name, description, verdict, score and reason.
    pub entry: RuleEntry,
    /// The rule that its module was compiled from; `None` without a script that compiles today.
    pub checked: Option<Arc<CheckedRule>>,
    /// Digest of the module.
    pub digest: ContentDigest,
    /// ABI version of the module.
    pub abi_version: u32,
    /// Worst-case cost of one evaluation.
    pub cost: Cost,
    /// Compiler warnings.
    pub warnings: Vec<Diagnostic>,
}
