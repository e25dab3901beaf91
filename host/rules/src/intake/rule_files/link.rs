//! Resolves symbolic links one by one, and checks that the owner of each may decide which rules are in force.
//!
//! ```text
//!  rules/a.ws ─▶ ..data/a.ws        the link of the file
//!  rules/..data ─▶ ..2026_11_25     a link on its way
//!  rules/..2026_11_25/a.ws          a regular file, which is read
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::Stamp;

/// Maximum number of links on the way to one file.
const LINKS_MAX: usize = 40;
const ROOT: u32 = 0;

/// Users whose links are followed, besides root.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owners {
    service: u32,
    directory: u32,
}

/// A link that was read on the way to a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::intake) struct Link {
    target: PathBuf,
    stamp: Stamp,
}

/// Links that were read, by their own path without links.
pub(in crate::intake) type ReadLinks = BTreeMap<PathBuf, Link>;

/// Target of a path.
#[derive(Debug)]
pub(super) struct ResolvedPath {
    /// Path without links.
    pub(super) path: PathBuf,
    pub(super) metadata: Metadata,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error(
        "the link `{}` belongs to user {owner}: only links that belong to root, to the service's user or to the owner of the rules directory are followed",
        path.display()
    )]
    Owner { path: PathBuf, owner: u32 },
    #[error("the link leads nowhere: there is no `{}`", .0.display())]
    Nowhere(PathBuf),
    #[error("the link leads back to itself, or through more than {LINKS_MAX} links")]
    Circle,
    #[error("the link cannot be followed: {0}")]
    Io(#[from] io::Error),
}

impl Owners {
    pub(super) fn of_directory(directory: &Metadata) -> Self {
        Self { service: rustix::process::geteuid().as_raw(), directory: directory.uid() }
    }

    fn may_link(self, user: u32) -> bool {
        [ROOT, self.service, self.directory].contains(&user)
    }
}

/// Resolves a path and adds each link on the way to `links`. Without `owners`, every link is followed.
///
/// # Errors
/// Fails if a link on the way may not be followed.
pub(super) fn resolve(
    path: &Path,
    owners: Option<Owners>,
    links: &mut ReadLinks,
) -> Result<ResolvedPath, LinkError> {
    let mut ahead: VecDeque<OsString> = parts_of(path).collect();
    let mut here = PathBuf::from("/");
    let mut n_links = 0;
    while let Some(part) = ahead.pop_front() {
        let next = match Path::new(&part).components().next() {
            Some(Component::Normal(name)) => here.join(name),
            Some(Component::ParentDir) => {
                here.pop();
                continue;
            }
            Some(Component::RootDir) => {
                here = PathBuf::from("/");
                continue;
            }
            _ => continue,
        };
        let metadata = match fs::symlink_metadata(&next) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(LinkError::Nowhere(next)),
            metadata => metadata?,
        };
        if !metadata.is_symlink() {
            here = next;
            continue;
        }
        n_links += 1;
        let target = fs::read_link(&next)?;
        let link = Link { target: target.clone(), stamp: Stamp::from_metadata(&metadata) };
        links.insert(next.clone(), link);
        if owners.is_some_and(|owners| !owners.may_link(metadata.uid())) {
            return Err(LinkError::Owner { path: next, owner: metadata.uid() });
        }
        if n_links > LINKS_MAX {
            return Err(LinkError::Circle);
        }
        for part in parts_of(&target).collect::<Vec<_>>().into_iter().rev() {
            ahead.push_front(part);
        }
    }
    let metadata = fs::symlink_metadata(&here)?;
    Ok(ResolvedPath { path: here, metadata })
}

fn parts_of(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().map(|part| part.as_os_str().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn read(path: &Path, owners: Option<Owners>) -> (Result<ResolvedPath, LinkError>, usize) {
        let mut links = ReadLinks::new();
        let resolved = resolve(path, owners, &mut links);
        (resolved, links.len())
    }

    #[test]
    fn links_are_resolved_one_by_one_and_each_is_remembered() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("..v1/deep")).unwrap();
        fs::write(top.join("..v1/deep/a.ws"), "").unwrap();
        symlink("..v1", top.join("..data")).unwrap();
        symlink("..data/deep/../deep/./a.ws", top.join("a.ws")).unwrap();
        symlink(top.join("a.ws"), top.join("again.ws")).unwrap();
        let (resolved, n_links) = read(&top.join("again.ws"), None);
        assert_eq!(resolved.unwrap().path, top.join("..v1/deep/a.ws"));
        assert_eq!(n_links, 3);
    }

    #[test]
    fn a_link_that_leads_nowhere_or_in_a_circle_or_belongs_to_another_user_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        symlink("there", top.join("here")).unwrap();
        symlink("here", top.join("there")).unwrap();
        symlink("nothing/a.ws", top.join("a.ws")).unwrap();
        assert!(matches!(read(&top.join("here"), None).0, Err(LinkError::Circle)));
        let (nowhere, n_links) = read(&top.join("a.ws"), None);
        assert!(matches!(nowhere, Err(LinkError::Nowhere(path)) if path == top.join("nothing")));
        assert_eq!(n_links, 1, "a link that leads nowhere is remembered too");
        let owner = fs::symlink_metadata(top.join("a.ws")).unwrap().uid();
        if owner != ROOT {
            let others = Owners { service: owner + 1, directory: owner + 2 };
            assert!(matches!(read(&top.join("a.ws"), Some(others)).0, Err(LinkError::Owner { .. })));
        }
        let own = Owners { service: owner + 1, directory: owner };
        assert!(matches!(read(&top.join("a.ws"), Some(own)).0, Err(LinkError::Nowhere(_))));
    }
}
