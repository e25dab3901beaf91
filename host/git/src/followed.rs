//! Record of the followed repository, kept beside the clones so that it survives a damaged or lost clone.

use std::fs;
use std::io;

use super::local_clone::CloneDirectory;
use super::work_tree::make_directory;
use super::{GitError, RepositoryAddress};

const FILE: &str = "followed";

/// A followed repository and its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedRepository {
    /// Address, without credentials.
    pub address: RepositoryAddress,
    /// Branch.
    pub branch: String,
    /// Whether a caller named the branch; otherwise it is the default branch of the repository. `None` in records of
    /// earlier versions.
    pub is_named: Option<bool>,
}

impl CloneDirectory {
    /// Records the followed repository.
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

    /// Returns the recorded repository; `None` if there is none.
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

    /// Returns the record as text.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn memory(&self) -> Result<Option<String>, GitError> {
        Ok(self.remembered()?.as_ref().map(write))
    }

    /// Records the repository from such a text. Returns `false` if the text is invalid.
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

/// Formats one value per line; earlier versions read the first two lines and ignore the third.
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
    fn a_followed_repository_is_read_as_it_was_written() {
        let (address, _) = RepositoryAddress::parse("https://bank.example/rules.git").unwrap();
        for is_named in [Some(true), Some(false), None] {
            let followed =
                FollowedRepository { address: address.clone(), branch: "main".to_owned(), is_named };
            assert_eq!(read(&write(&followed)), Some(followed));
        }
        assert_eq!(read("https://bank.example/rules.git\n"), None);
    }
}
