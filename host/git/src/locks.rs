//! Lock files of Git references, which outlive a killed process.
//!
//! libgit2 takes such a file for the lock of a running process and would refuse to write there for ever.

use std::fs;
use std::io;
use std::path::Path;

use super::GitError;
use super::local_clone::CloneDirectory;

/// Maximum depth of the reference folders: branch names may contain `/`.
const DEPTH_MAX: usize = 32;
/// Lock files outside the reference folders.
const SINGLE: [&str; 3] = ["HEAD.lock", "packed-refs.lock", "config.lock"];

impl CloneDirectory {
    /// Removes the locks of an earlier run. Call it at startup, before any Git operation. The lock of the index stays,
    /// because only people use an index here.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn break_locks(&self) -> Result<(), GitError> {
        let git = self.rules().join(".git");
        for name in SINGLE {
            break_lock(&git.join(name))?;
        }
        break_below(&git.join("refs"), 0)
    }
}

fn break_below(folder: &Path, depth: usize) -> Result<(), GitError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(GitError::disk(folder)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(GitError::disk(folder))?;
        let kind = entry.file_type().map_err(GitError::disk(folder))?;
        let path = entry.path();
        if kind.is_dir() && depth < DEPTH_MAX {
            break_below(&path, depth + 1)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "lock") {
            break_lock(&path)?;
        }
    }
    Ok(())
}

fn break_lock(path: &Path) -> Result<(), GitError> {
    match fs::remove_file(path) {
        Ok(()) => {
            tracing::warn!(path = %path.display(), "removed a lock file of an earlier run");
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(GitError::disk(path)(error)),
    }
}
