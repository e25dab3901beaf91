//! What rules may see and do, by where they come from: the operator's word.
//!
//! ```text
//!  policy file ──read, once──▶ Policy ──of(source)──▶ RuleGrant ──check(manifest)──▶ Grant of the sandbox, or what is missing
//! ```
//!
//! Without a policy every rule may use everything, within the default limits. With one, a rule may use what the first grant
//! for its source says, and a source without a grant has no rules.

mod denial;
mod file;

use std::path::{Path, PathBuf};

use tollgate_guest_abi::{VerdictSeverity, Window};
use tollgate_model::instruction::InstructionSource;

use tollgate_model::instruction::Grant;

pub use denial::{Denial, named_lists};

/// Every grant, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// `None`: nobody said anything, so everything is granted.
    grants: Option<Vec<SourceGrant>>,
}

/// What is granted to the rules of one kind of source.
#[derive(Debug, Clone)]
struct SourceGrant {
    kind: SourceKind,
    /// What the paths of files begin with; empty: all of them.
    path: String,
    /// How many rules may be in force by this grant.
    rules_max: Option<u32>,
    grant: RuleGrant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum SourceKind {
    Api,
    Upload,
    File,
    Git,
}

/// What one rule may use.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleGrant {
    /// Fields, of the transaction under evaluation and of past ones.
    fields: GrantedNames,
    /// Named lists.
    lists: GrantedNames,
    /// Functions of the history: those of aggregates, and `previous_transaction`.
    history: GrantedNames,
    longest_window: Option<Window>,
    history_lookups: Option<u32>,
    severest_verdict: Option<VerdictSeverity>,
    /// What a module may use that the compiler did not make; a script's worst case must be within it.
    budget: Grant,
    is_budget_set: bool,
}

/// Names that are granted.
#[derive(Debug, Clone, PartialEq)]
enum GrantedNames {
    All,
    /// These; one that ends in `.*` stands for everything below, `*` for everything.
    These(Vec<String>),
}

/// Why there is no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("the rule policy `{}` cannot be read; set SERVICE_RULE_POLICY to a file that can", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// What is in it is no policy.
    #[error("the rule policy `{}` is not valid: {reason}", path.display())]
    Invalid {
        /// Which.
        path: PathBuf,
        /// What is wrong, with line and column.
        reason: String,
    },
}

impl Policy {
    /// The policy of a file.
    ///
    /// # Errors
    /// When it cannot be read or says what no policy can.
    pub fn read(path: &Path) -> Result<Self, PolicyError> {
        let text = file::text_of(path)
            .map_err(|source| PolicyError::Unreadable { path: path.to_owned(), source })?;
        let invalid = |reason| PolicyError::Invalid { path: path.to_owned(), reason };
        file::parse(&text).map(|grants| Self { grants: Some(grants) }).map_err(invalid)
    }

    /// What is granted to a rule from this source.
    ///
    /// # Errors
    /// When nothing is.
    pub fn of(&self, source: &InstructionSource) -> Result<RuleGrant, Denial> {
        let Some(grants) = &self.grants else { return Ok(RuleGrant::default()) };
        let granted =
            grants.iter().find(|granted| granted.covers(source)).map(|granted| granted.grant.clone());
        granted.ok_or_else(|| Denial { missing: vec![format!("a grant for rules from {source}")] })
    }
}

impl Policy {
    /// Whether one more rule from this source may be in force beside those from the others.
    ///
    /// # Errors
    /// When there are as many as its grant allows.
    pub fn check_count<'a>(
        &self,
        source: &InstructionSource,
        others: impl Iterator<Item = &'a InstructionSource>,
    ) -> Result<(), Denial> {
        let place_of = |source: &InstructionSource| {
            self.grants.iter().flatten().position(|granted| granted.covers(source))
        };
        let place = place_of(source);
        let granted = place.and_then(|place| self.grants.as_ref()?.get(place)?.rules_max);
        let Some(rules_max) = granted else { return Ok(()) };
        let n_rules = others.filter(|other| place_of(other) == place).count();
        if n_rules < rules_max as usize {
            return Ok(());
        }
        Err(Denial { missing: vec![format!("one more rule from {source} ({rules_max} at most)")] })
    }
}

impl SourceGrant {
    fn covers(&self, source: &InstructionSource) -> bool {
        let (kind, path) = match source {
            InstructionSource::Api => (SourceKind::Api, ""),
            InstructionSource::Upload => (SourceKind::Upload, ""),
            InstructionSource::File { path } => (SourceKind::File, path.as_str()),
            InstructionSource::Git { path, .. } => (SourceKind::Git, path.as_str()),
        };
        self.kind == kind && path.starts_with(&self.path)
    }
}

impl RuleGrant {
    /// What the sandbox gives to a module that the compiler did not make.
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
        }
    }
}

impl GrantedNames {
    /// The same, each spelled by this.
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
