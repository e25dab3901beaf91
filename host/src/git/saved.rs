//! What was saved over the API, as files of the work tree.
//!
//! A file that the repository has is the repository's: it is changed there, or by hand. What is not in it yet is ours.

use git2::{ObjectType, Oid};

use super::GitError;
use super::local_clone::LocalClone;
use super::rule_path::PathKind;

impl LocalClone {
    /// Writes a script into a file of its rule's name.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn save_script(&self, name: &str, script: &str) -> Result<(), GitError> {
        let path = format!("{name}.ws");
        // Another rule may live in a file of this name.
        let path = if self.is_committed(&path, script)? { format!("saved/{name}.ws") } else { path };
        self.work_tree().write(&path, script.as_bytes())
    }

    /// Takes the file of a rule away, unless it says something else by now. `path` is where the repository has it.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn remove_script(&self, name: &str, path: Option<&str>, script: &str) -> Result<(), GitError> {
        let candidates =
            [path.map(str::to_owned), Some(format!("{name}.ws")), Some(format!("saved/{name}.ws"))];
        for path in candidates.iter().flatten() {
            let found = self.work_tree().read(path, PathKind::Script)?;
            if found.is_some_and(|found| found == script.as_bytes()) {
                return self.work_tree().remove(path);
            }
        }
        Ok(())
    }

    /// Writes a list.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn save_list(&self, name: &str, text: &str) -> Result<(), GitError> {
        let path = format!("lists/{name}.txt");
        if self.is_committed(&path, text)? {
            tracing::warn!(
                path,
                "the repository has another list of this name; the saved one is not written"
            );
            return Ok(());
        }
        self.work_tree().write(&path, text.as_bytes())
    }

    /// Takes a list away that the repository does not have.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn remove_list(&self, name: &str) -> Result<(), GitError> {
        let path = format!("lists/{name}.txt");
        if self.is_committed(&path, "")? { Ok(()) } else { self.work_tree().remove(&path) }
    }

    /// Whether the local branch has a file there that says something else.
    fn is_committed(&self, path: &str, text: &str) -> Result<bool, GitError> {
        let id = Oid::hash_object(ObjectType::Blob, text.as_bytes()).map_err(GitError::Damaged)?;
        Ok(self.committed(path)?.is_some_and(|committed| committed != id))
    }
}
