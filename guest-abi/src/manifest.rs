//! The manifest: a module's description of itself, stored inside the module.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    ABI_VERSION, AggregateSpec, Cost, FieldPath, ListSource, PreviousSpec, Semantics, TimeSpec, Verdict,
};

/// The rules of a module and the meaning of each slot it uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The ABI version that the module was built for.
    pub abi_version: u32,
    /// The semantics of filters, lists and times.
    #[serde(default, skip_serializing_if = "Semantics::is_first")]
    pub semantics: Semantics,
    /// The rules; rule `n` reports through bit `n` of `evaluate`.
    pub rules: Vec<RuleEntry>,
    /// The meaning of each slot.
    #[serde(default)]
    pub needs: Needs,
    /// Worst-case cost of one call of `evaluate`. Trusted only in modules of our compiler; for others the host uses its
    /// limits.
    #[serde(default)]
    pub cost: Cost,
}

/// A rule of a module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleEntry {
    /// The name, written after `rule`.
    pub name: String,
    /// The purpose of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The verdict of a match.
    pub verdict: Verdict,
    /// The risk, from 0 (low) to 1 (high).
    pub score: f64,
    /// The reason shown to an analyst.
    pub reason: String,
}

/// Everything the module can read, by slot. Anything not listed cannot be read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Needs {
    /// Fields of the transaction under evaluation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldPath>,
    /// Texts to compare fields with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
    /// Lists to look values up in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<ListSource>,
    /// Patterns to search for in texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// History lookups that return a number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aggregates: Vec<AggregateSpec>,
    /// History lookups that return yes or no.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub previous: Vec<PreviousSpec>,
    /// Parts of date-times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<TimeSpec>,
}

/// An error in reading a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestError {
    /// The bytes are not the JSON of a manifest; carries the parser's message.
    Malformed(String),
    /// The manifest names an unsupported ABI version.
    AbiVersion(u32),
}

impl Manifest {
    /// Returns the content of the custom section.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Serialization cannot fail: every map key is a string and every number is finite.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Parses the content of a custom section.
    ///
    /// # Errors
    /// Returns an error when the bytes are not a manifest or name another ABI version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ManifestError> {
        let malformed = |error: serde_json::Error| ManifestError::Malformed(error.to_string());
        // Serde skips unknown members without validating them, so the whole text is checked as JSON first.
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
                write!(f, "the module uses ABI version {version}, this host supports {ABI_VERSION}")
            }
        }
    }
}

impl core::error::Error for ManifestError {}
