//! The grants by which requests to the API change more than the rules that came over it.
//!
//! The API has no users, so every request has the first grant for the source `api`.

use tollgate_model::instruction::InstructionSource;

use super::{Denial, GrantedNames, Policy, SourceKind};

/// The changes that a grant for the API allows; none by default.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChangeGrant {
    /// Sources whose rules and lists may be changed.
    pub(super) kinds: Vec<SourceKind>,
    /// Lists that may be set and removed.
    pub(super) lists: GrantedNames,
    /// Whether changes may be pushed to the repository.
    pub(super) push: bool,
}

impl Default for ChangeGrant {
    fn default() -> Self {
        Self { kinds: Vec::new(), lists: GrantedNames::These(Vec::new()), push: false }
    }
}

impl Policy {
    /// Returns whether there is a policy file.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.grants.is_some()
    }

    /// Checks whether a request to the API may change what came from this source.
    ///
    /// # Errors
    /// When it did not come over the API, and the grant for the API does not name its source.
    pub fn check_change(&self, of: &InstructionSource) -> Result<(), Denial> {
        if of.is_over_api() {
            return Ok(());
        }
        self.check_change_of(SourceKind::of_source(of), &format!("a change of what comes from {of}"))
    }

    /// Checks whether a request to the API may change which rules the repository brings.
    ///
    /// # Errors
    /// When the grant for the API does not name the source `git`.
    pub fn check_change_of_repository(&self) -> Result<(), Denial> {
        self.check_change_of(SourceKind::Git, "a change of the repository, or of what of it is in force")
    }

    /// Checks whether a request to the API may set or remove this list.
    ///
    /// # Errors
    /// When the grant for the API does not name the list.
    pub fn check_set_list(&self, name: &str) -> Result<(), Denial> {
        if self.changes().is_none_or(|granted| granted.lists.grants(name)) {
            return Ok(());
        }
        let name = name.escape_debug();
        Err(missing(&format!("a change of the list `{name}`"), &format!("\"set_lists\": [\"{name}\"]")))
    }

    /// Checks whether a request to the API may push to the repository.
    ///
    /// # Errors
    /// When the grant for the API does not say so.
    pub fn check_push(&self) -> Result<(), Denial> {
        if self.changes().is_none_or(|granted| granted.push) {
            return Ok(());
        }
        Err(missing("a push to the repository", "\"push\": true"))
    }

    fn check_change_of(&self, kind: SourceKind, what: &str) -> Result<(), Denial> {
        if self.changes().is_none_or(|granted| granted.kinds.contains(&kind)) {
            return Ok(());
        }
        Err(missing(what, &format!("\"change\": [\"{}\"]", kind.as_str())))
    }

    /// Returns the changes granted to the API; `None` without a policy, which grants all.
    fn changes(&self) -> Option<ChangeGrant> {
        let grants = self.grants.as_ref()?;
        let granted = grants.iter().find(|granted| granted.kind == SourceKind::Api);
        Some(granted.map(|granted| granted.changes.clone()).unwrap_or_default())
    }
}

fn missing(what: &str, member: &str) -> Denial {
    Denial { missing: vec![format!("{what} (`{member}` in the grant for the source `api`)")] }
}
