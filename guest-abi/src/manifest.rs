//! What a module says of itself; it travels inside the module.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    ABI_VERSION, AggregateSpec, Cost, FieldPath, ListSource, PreviousSpec, Semantics, TimeSpec, Verdict,
};

/// The passport of a module: which rules it answers for, and what stands behind each slot it will ask about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The contract the module was written to.
    pub abi_version: u32,
    /// The meaning of what stands behind the slots: how filters, lists and times are read.
    #[serde(default, skip_serializing_if = "Semantics::is_first")]
    pub semantics: Semantics,
    /// Rule `n` answers with bit `n` of `evaluate`.
    pub rules: Vec<RuleEntry>,
    /// What stands behind the slots.
    #[serde(default)]
    pub needs: Needs,
    /// What one call of `evaluate` costs at worst. Only the compiler's word counts: for other modules the host knows the
    /// worst case by the limits it sets them.
    #[serde(default)]
    pub cost: Cost,
}

/// One rule of a module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleEntry {
    /// The word after `rule`.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it says when it matches.
    pub verdict: Verdict,
    /// Risk from 0 (low) to 1 (high).
    pub score: f64,
    /// The sentence an analyst reads.
    pub reason: String,
}

/// Everything the module may ask about, by slot. What is not named here cannot be read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Needs {
    /// Fields of the transaction under evaluation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldPath>,
    /// Texts fields are compared with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
    /// Lists values are looked for in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<ListSource>,
    /// Patterns texts are searched for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// Questions to the history that have a number for an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aggregates: Vec<AggregateSpec>,
    /// Questions to the history that have yes or no for an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub previous: Vec<PreviousSpec>,
    /// Parts of date-times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<TimeSpec>,
}

/// Why a manifest could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestError {
    /// Not the JSON of a manifest; the reader's words.
    Malformed(String),
    /// Written to a contract this host does not know.
    AbiVersion(u32),
}

impl Manifest {
    /// The bytes of the custom section.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Every map key is a string and every number is finite, so JSON can always say it.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a custom section.
    ///
    /// # Errors
    /// When the bytes are no manifest or name another ABI version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ManifestError> {
        let malformed = |error: serde_json::Error| ManifestError::Malformed(error.to_string());
        // Members that nobody knows are skipped without a look, and may not be JSON at all.
        let _: serde_json::Value = serde_json::from_slice(bytes).map_err(malformed)?;
        let manifest: Manifest = serde_json::from_slice(bytes).map_err(malformed)?;
        if manifest.abi_version == ABI_VERSION {
            Ok(manifest)
        } else {
            Err(ManifestError::AbiVersion(manifest.abi_version))
        }
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ManifestError::Malformed(words) => write!(f, "the manifest cannot be read: {words}"),
            ManifestError::AbiVersion(version) => {
                write!(f, "the module is written to ABI version {version}, this host knows {ABI_VERSION}")
            }
        }
    }
}

impl core::error::Error for ManifestError {}
