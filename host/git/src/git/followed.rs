//! Which repository is followed, kept beside the clones: a clone that is damaged or lost cannot tell.

use std::fs;
use std::io;

use super::local_clone::CloneDirectory;
use super::work_tree::make_directory;
use super::{GitError, RepositoryAddress};

const FILE: &str = "followed";

/// A repository that is followed, and the branch of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedRepository {
    /// Where it is; holds no credentials.
    pub address: RepositoryAddress,
    /// The branch.
    pub branch: String,
    /// Whether somebody named the branch; otherwise it is the repository's own choice. `None` where an earlier version of the
    /// service wrote it down.
    pub is_named: Option<bool>,
}

impl CloneDirectory {
    /// Remembers what is followed.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn remember(&self, followed: &FollowedRepository) -> Result<(), GitError> {
        let (file, beside) = (self.beside(FILE), self.beside("followed.new"));
        if let Some(root) = file.parent() {
            make_directory(root).map_err(GitError::disk(root))?;
        }
        fs::write(&beside, write(followed)).map_err(GitError::disk(&beside))?;
        fs::rename(&beside, &file).map_err(GitError::disk(&file))
    }

    /// What was followed last; `None` when nothing was.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn remembered(&self) -> Result<Option<FollowedRepository>, GitError> {
        let file = self.beside(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(GitError::disk(file)(error)),
        };
        Ok(read(&text))
    }

    /// What is remembered, as a text.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn memory(&self) -> Result<Option<String>, GitError> {
        Ok(self.remembered()?.as_ref().map(write))
    }

    /// Remembers what such a text says; whether it says anything.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn remember_again(&self, memory: &str) -> Result<bool, GitError> {
        let Some(followed) = read(memory) else { return Ok(false) };
        self.remember(&followed)?;
        Ok(true)
    }
}

const NAMED: &str = "named";
const OWN_CHOICE: &str = "own choice";

/// A line each; an earlier version reads the first two and ignores the third.
fn write(followed: &FollowedRepository) -> String {
    let FollowedRepository { address, branch, is_named } = followed;
    let choice = match is_named {
        Some(true) => format!("{NAMED}\n"),
        Some(false) => format!("{OWN_CHOICE}\n"),
        None => String::new(),
    };
    format!("{address}\n{branch}\n{choice}")
}

fn read(text: &str) -> Option<FollowedRepository> {
    let mut lines = text.lines();
    let (address, _) = RepositoryAddress::parse(lines.next()?).ok()?;
    let branch = lines.next()?.to_owned();
    let is_named = match lines.next() {
        Some(NAMED) => Some(true),
        Some(OWN_CHOICE) => Some(false),
        _ => None,
    };
    Some(FollowedRepository { address, branch, is_named })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_followed_is_read_as_it_was_written() {
        let (address, _) = RepositoryAddress::parse("https://bank.example/rules.git").unwrap();
        for is_named in [Some(true), Some(false), None] {
            let followed =
                FollowedRepository { address: address.clone(), branch: "main".to_owned(), is_named };
            assert_eq!(read(&write(&followed)), Some(followed));
        }
        assert_eq!(read("https://bank.example/rules.git\n"), None);
    }
}
