//! Opens a repository of libgit2.

use std::path::Path;

use git2::{Config, Repository, RepositoryOpenFlags};

/// Opens the repository as bare, so that libgit2 never touches the work tree.
pub(super) fn open_repository(git_directory: &Path) -> Result<Repository, git2::Error> {
    let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE;
    let nowhere: [&str; 0] = [];
    let repository = Repository::open_ext(git_directory, flags, nowhere)?;
    // Only the configuration of the clone applies, not that of the user or the machine.
    repository.set_config(&Config::open(&git_directory.join("config"))?)?;
    Ok(repository)
}
