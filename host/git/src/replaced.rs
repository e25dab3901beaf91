//! Keeps local commits reachable after a forced sync, by references that record when they were replaced.

use chrono::{DateTime, Utc};

use super::GitError;
use super::local_clone::{CommitId, LocalClone};

const REPLACED: &str = "refs/tollgate/replaced/";
/// Maximum number of such references; the oldest is deleted first.
const KEPT_MAX: usize = 16;

impl LocalClone {
    /// Keeps a commit reachable under a reference named by the time, and returns that name. A commit that already has
    /// one keeps it.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn keep_replaced(&self, commit: CommitId, now: DateTime<Utc>) -> Result<String, GitError> {
        let mut kept = self.replaced()?;
        if let Some((name, _)) = kept.iter().find(|(_, known)| *known == commit) {
            return Ok(name.clone());
        }
        let name = format!("{REPLACED}{}-{commit}", now.format("%Y%m%dT%H%M%S%.6fZ"));
        self.set_reference(&name, commit)?;
        kept.push((name.clone(), commit));
        // Names begin with the time, so this sorts by age.
        kept.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (old, _) in kept.iter().take(kept.len().saturating_sub(KEPT_MAX)) {
            let old = self.repository().find_reference(old).and_then(|mut reference| reference.delete());
            old.map_err(GitError::Damaged)?;
        }
        Ok(name)
    }

    fn replaced(&self) -> Result<Vec<(String, CommitId)>, GitError> {
        let references =
            self.repository().references_glob(&format!("{REPLACED}*")).map_err(GitError::Damaged)?;
        let named = |reference: git2::Reference<'_>| {
            Some((reference.name().ok()?.to_owned(), CommitId(reference.target()?)))
        };
        Ok(references.filter_map(Result::ok).filter_map(named).collect())
    }
}
