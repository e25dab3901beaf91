//! The operator's policy: access of rules to data and resources, by the source of the rule.
//!
//! ```text
//!  policy file ──read, once──▶ Policy ──of(source)──▶ RuleGrant ──check(manifest)──▶ Grant of the sandbox, or a Denial
//! ```
//!
//! Without a policy, every rule may use everything within the default limits. With a policy, the first grant for its
//! source applies; a source without a grant can have no rules. Requests to the API may then change only what came over
//! the API, unless its grant says more.

mod changes;
mod denial;
mod estimated;
mod file;

use std::path::{Path, PathBuf};

use tollgate_guest_abi::limits::{FUEL_PER_OWNER, FUEL_PER_RUN, FUEL_PER_UNTRUSTED_OWNER, SUSTAINED_FUEL};
use tollgate_guest_abi::{VerdictSeverity, Window};
use tollgate_model::instruction::{InstructionSource, RuleOwner};

use tollgate_model::instruction::Grant;

use changes::ChangeGrant;
pub use denial::{Denial, named_lists};
pub use estimated::TooExpensive;

/// All grants, in the order of the file.
#[derive(Debug, Clone)]
pub struct Policy {
    /// `None` without a policy: everything is granted.
    grants: Option<Vec<SourceGrant>>,
    /// The fuel of each owner who is trusted.
    fuel_per_owner: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Self { grants: None, fuel_per_owner: FUEL_PER_OWNER }
    }
}

/// The grant for rules from one kind of source.
#[derive(Debug, Clone)]
struct SourceGrant {
    kind: SourceKind,
    /// Prefix of the file paths; empty for all paths.
    path: String,
    /// The largest number of rules in force under this grant.
    rules_max: Option<u32>,
    profile: OwnerProfile,
    grant: RuleGrant,
    changes: ChangeGrant,
}

/// How much the rules of an owner may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum OwnerProfile {
    #[default]
    Trusted,
    Untrusted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum SourceKind {
    Api,
    Upload,
    File,
    Git,
}

impl SourceKind {
    const fn of_source(source: &InstructionSource) -> Self {
        match source {
            InstructionSource::Api => Self::Api,
            InstructionSource::Upload => Self::Upload,
            InstructionSource::File { .. } => Self::File,
            InstructionSource::Git { .. } => Self::Git,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Upload => "upload",
            Self::File => "file",
            Self::Git => "git",
        }
    }
}

/// Access rights of one rule.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleGrant {
    /// Fields of the current transaction and of past ones.
    fields: GrantedNames,
    lists: GrantedNames,
    /// Aggregate functions, and `previous_transaction`.
    history: GrantedNames,
    longest_window: Option<Window>,
    history_lookups: Option<u32>,
    severest_verdict: Option<VerdictSeverity>,
    /// Limits of an uploaded module. They also bound the worst case of a script, if the policy sets any of them.
    budget: Grant,
    /// Whether the policy sets fuel or host calls.
    is_budget_set: bool,
    /// The most fuel that reading the history may take on an average transaction, by estimate.
    scans: u64,
    /// The most memory that the new series of a rule may take, in bytes, by estimate.
    history_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
enum GrantedNames {
    All,
    /// These names; a name that ends in `.*` grants everything below it, and `*` grants everything.
    These(Vec<String>),
}

/// The reason a policy cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("the rule policy `{}` cannot be read; set SERVICE_RULE_POLICY to a readable file", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The contents are not a valid policy.
    #[error("the rule policy `{}` is not valid: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The error, with line and column.
        reason: String,
    },
}

impl Policy {
    /// Reads a policy from a file.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a valid policy.
    pub fn read(path: &Path) -> Result<Self, PolicyError> {
        let text = file::text_of(path)
            .map_err(|source| PolicyError::Unreadable { path: path.to_owned(), source })?;
        let invalid = |reason| PolicyError::Invalid { path: path.to_owned(), reason };
        file::parse(&text).map(|grants| Self { grants: Some(grants), ..Self::default() }).map_err(invalid)
    }

    /// Sets the fuel that all rules of an owner who is trusted may use on one transaction.
    #[must_use]
    pub fn with_fuel_per_owner(self, fuel_per_owner: u64) -> Self {
        Self { fuel_per_owner, ..self }
    }

    /// Returns the owner of the rules from this source: the source itself, or the paths of a grant for authors who are
    /// not trusted.
    #[must_use]
    pub fn owner_of(&self, source: &InstructionSource) -> RuleOwner {
        let kind = SourceKind::of_source(source).as_str();
        match self.grants.iter().flatten().find(|granted| granted.covers(source)) {
            Some(SourceGrant { profile: OwnerProfile::Untrusted, path, .. }) => RuleOwner {
                name: if path.is_empty() { kind.into() } else { format!("{kind}:{path}").into() },
                fuel: FUEL_PER_UNTRUSTED_OWNER.min(self.fuel_per_owner),
                sustained_fuel: Some(SUSTAINED_FUEL),
            },
            _ => RuleOwner { name: kind.into(), fuel: self.fuel_per_owner, sustained_fuel: None },
        }
    }

    /// Returns the grant for rules from this source.
    ///
    /// # Errors
    /// When there is none.
    pub fn grant_for(&self, source: &InstructionSource) -> Result<RuleGrant, Denial> {
        let Some(grants) = &self.grants else { return Ok(RuleGrant::default()) };
        let granted =
            grants.iter().find(|granted| granted.covers(source)).map(|granted| granted.grant.clone());
        granted.ok_or_else(|| Denial { missing: vec![format!("any rule from {source}")] })
    }
}

impl Policy {
    /// Checks whether one more rule from this source may be in force besides the others.
    ///
    /// # Errors
    /// When its grant allows no more rules.
    pub fn check_count<'a>(
        &self,
        source: &InstructionSource,
        others: impl Iterator<Item = &'a InstructionSource>,
    ) -> Result<(), Denial> {
        let grant_index_of = |source: &InstructionSource| {
            self.grants.iter().flatten().position(|granted| granted.covers(source))
        };
        let grant_index = grant_index_of(source);
        let granted = grant_index.and_then(|grant_index| self.grants.as_ref()?.get(grant_index)?.rules_max);
        let Some(rules_max) = granted else { return Ok(()) };
        let n_rules = others.filter(|other| grant_index_of(other) == grant_index).count();
        if n_rules < rules_max as usize {
            return Ok(());
        }
        Err(Denial { missing: vec![format!("one more rule from {source} ({rules_max} at most)")] })
    }
}

impl SourceGrant {
    fn covers(&self, source: &InstructionSource) -> bool {
        self.kind == SourceKind::of_source(source)
            && source.path().unwrap_or_default().starts_with(&self.path)
    }
}

impl RuleGrant {
    /// Sandbox limits for a module that was not compiled from a script.
    #[must_use]
    pub const fn budget(&self) -> Grant {
        self.budget
    }
}

impl Default for RuleGrant {
    fn default() -> Self {
        Self {
            fields: GrantedNames::All,
            lists: GrantedNames::All,
            history: GrantedNames::All,
            longest_window: None,
            history_lookups: None,
            severest_verdict: None,
            budget: Grant::default(),
            is_budget_set: false,
            scans: FUEL_PER_RUN,
            history_bytes: None,
        }
    }
}

impl GrantedNames {
    /// Applies `spell` to each name.
    fn each(self, spell: fn(&str) -> String) -> Self {
        match self {
            Self::All => Self::All,
            Self::These(names) => Self::These(names.iter().map(|name| spell(name)).collect()),
        }
    }

    fn grants(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.iter().any(|granted| match granted.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => granted == name,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
