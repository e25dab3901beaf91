//! Which repository is followed, kept beside the clones: a clone that is damaged or lost cannot tell.

use std::fs;
use std::io;

use super::local_clone::CloneDirectory;
use super::work_tree::make_directory;
use super::{Address, GitError};

const FILE: &str = "followed";

impl CloneDirectory {
    /// Remembers what is followed; an address holds no credentials.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn remember(&self, address: &Address, branch: &str) -> Result<(), GitError> {
        let (file, beside) = (self.beside(FILE), self.beside("followed.new"));
        if let Some(root) = file.parent() {
            make_directory(root).map_err(GitError::disk(root))?;
        }
        fs::write(&beside, write(address, branch)).map_err(GitError::disk(&beside))?;
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
        Ok(read(&text))
    }

    /// What is remembered, as a text.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn memory(&self) -> Result<Option<String>, GitError> {
        Ok(self.remembered()?.map(|(address, branch)| write(&address, &branch)))
    }

    /// Remembers what such a text says; whether it says anything.
    ///
    /// # Errors
    /// [`GitError::Disk`].
    pub fn remember_again(&self, memory: &str) -> Result<bool, GitError> {
        let Some((address, branch)) = read(memory) else { return Ok(false) };
        self.remember(&address, &branch)?;
        Ok(true)
    }
}

fn write(address: &Address, branch: &str) -> String {
    format!("{address}\n{branch}\n")
}

fn read(text: &str) -> Option<(Address, String)> {
    let mut lines = text.lines();
    let address = lines.next().and_then(|line| Address::parse(line).ok()).map(|(address, _)| address);
    address.zip(lines.next().map(str::to_owned))
}
