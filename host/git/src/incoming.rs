//! Repository of a worker within the clone. The worker can read the objects of the clone, but not write them.
//!
//! After a success its packs are moved into the clone. After a failure or an interruption the folder is removed with
//! its contents, so a clone contains complete transfers only.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::GitError;
use super::local_clone::LocalClone;
use super::work_tree::make_directory;

const NAME: &str = "incoming";
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfsyncObjectFiles = true\n";
const HEAD: &str = "ref: refs/heads/main\n";

/// A worker's repository, removed when dropped.
pub(super) struct Incoming {
    path: PathBuf,
    /// Objects folder of the clone.
    objects: PathBuf,
}

impl Incoming {
    /// Creates the repository within a clone, with the references of the clone.
    pub(super) fn new(clone: &LocalClone) -> Result<Self, GitError> {
        // An absolute path, because the worker has a different working directory.
        let git = clone.git_directory();
        let git = fs::canonicalize(git).map_err(GitError::disk(git))?;
        let references = references(clone).map_err(GitError::Damaged)?;
        let incoming = Self { path: git.join(NAME), objects: git.join("objects") };
        incoming.make(&references).map_err(GitError::disk(&incoming.path))?;
        Ok(incoming)
    }

    /// Returns its `.git` directory, absolute.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the received packs into the clone.
    pub(super) fn take(self) -> Result<(), GitError> {
        self.move_packs().map_err(GitError::disk(&self.objects))
    }

    fn make(&self, references: &str) -> io::Result<()> {
        remove(&self.path)?;
        for folder in ["objects/info", "objects/pack", "refs"] {
            make_directory(&self.path.join(folder))?;
        }
        let put = |name: &str, text: &str| fs::write(self.path.join(name), text);
        put("config", CONFIG)?;
        put("HEAD", HEAD)?;
        put("packed-refs", references)?;
        let objects = self.objects.to_str().ok_or(ErrorKind::InvalidFilename)?;
        put("objects/info/alternates", &format!("{objects}\n"))
    }

    fn move_packs(&self) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path.join("objects/pack"))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_file() && is_of_pack(&name) {
                names.push(name);
            }
        }
        // The index comes last, because a pack becomes visible with its index.
        names.sort_by_key(|name| name.ends_with(".idx"));
        for name in names {
            let path = Path::new("pack").join(&name);
            fs::rename(self.path.join("objects").join(&path), self.objects.join(&path))?;
        }
        Ok(())
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        remove(&self.path).ok();
    }
}

fn is_of_pack(name: &str) -> bool {
    let digits = name.strip_prefix("pack-").and_then(|name| name.rsplit_once('.'));
    digits.is_some_and(|(digits, kind)| {
        ["pack", "idx"].contains(&kind) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Formats the references as in `packed-refs`, so that a fetch requests missing objects only.
fn references(clone: &LocalClone) -> Result<String, git2::Error> {
    let mut lines = Vec::new();
    for reference in clone.repository().references()? {
        let reference = reference?;
        if let (Ok(name), Some(id)) = (reference.name(), reference.target()) {
            lines.push(format!("{id} {name}\n"));
        }
    }
    Ok(lines.concat())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incoming(folder: &Path) -> Incoming {
        let incoming = Incoming { path: folder.join(NAME), objects: folder.join("objects") };
        make_directory(&incoming.objects.join("pack")).unwrap();
        incoming.make("").unwrap();
        incoming
    }

    fn everything_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn packs_that_are_whole_are_taken_and_nothing_else() {
        let clone = tempfile::tempdir().unwrap();
        let incoming = incoming(clone.path());
        let packs = incoming.path().join("objects/pack");
        for name in ["pack-1f.pack", "pack-1f.idx", "pack_git2_c3d4", "pack-1f.keep", "pack-x.pack"] {
            fs::write(packs.join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", packs.join("pack-2f.pack")).unwrap();
        incoming.take().unwrap();
        assert_eq!(everything_in(&clone.path().join("objects/pack")), ["pack-1f.idx", "pack-1f.pack"]);
        assert_eq!(everything_in(clone.path()), ["objects"], "the folder is gone");
    }

    #[test]
    fn leftovers_of_an_interrupted_operation_are_removed() {
        let clone = tempfile::tempdir().unwrap();
        let pack = |incoming: &Incoming| incoming.path().join("objects/pack/pack_git2_a1b2");
        let interrupted = incoming(clone.path());
        fs::write(pack(&interrupted), "x").unwrap();
        std::mem::forget(interrupted);
        let next = incoming(clone.path());
        assert!(!pack(&next).exists());
        drop(next);
        assert_eq!(everything_in(clone.path()), ["objects"]);
    }
}
