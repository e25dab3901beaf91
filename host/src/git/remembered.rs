//! Which repository is followed, kept beside the clones: a clone that is damaged or lost cannot tell.

use std::fs;
use std::io;

use super::local_clone::CloneDirectory;
use super::{Address, GitError};

const FILE: &str = "followed";

impl CloneDirectory {
    /// Remembers what is followed; an address holds no credentials.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn remember(&self, address: &Address, branch: &str) -> Result<(), GitError> {
        let (file, beside) = (self.beside(FILE), self.beside("followed.new"));
        fs::write(&beside, format!("{address}\n{branch}\n")).map_err(GitError::disk(&beside))?;
        fs::rename(&beside, &file).map_err(GitError::disk(&file))
    }

    /// What was followed last; `None` when nothing was.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn remembered(&self) -> Result<Option<(Address, String)>, GitError> {
        let file = self.beside(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(GitError::disk(file)(error)),
        };
        let mut lines = text.lines();
        let address = lines.next().and_then(|line| Address::parse(line).ok()).map(|(address, _)| address);
        Ok(address.zip(lines.next().map(str::to_owned)))
    }
}
