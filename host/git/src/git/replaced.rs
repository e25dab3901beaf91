//! What a forced sync leaves behind: local commits that nothing else names any more are kept under a name of their own.

use chrono::{DateTime, Utc};

use super::GitError;
use super::local_clone::{CommitId, LocalClone};

const REPLACED: &str = "refs/tollgate/replaced/";
/// Most that are kept; the oldest goes first.
const KEPT_MAX: usize = 16;

impl LocalClone {
    /// Keeps where the local branch stands, under a name that says when. A commit that has such a name keeps it.
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
        // The names begin with the time.
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
