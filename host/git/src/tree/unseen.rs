//! Reports links to rule files. They are not followed, so an author has to learn about them.

use git2::{ObjectType, Oid, Repository};

use super::{LINK, Leaves, UnfitReason, escaped};
use crate::GitError;
use crate::rule_path::{LISTS, PathKind};

/// Maximum number of links on the way to one target; the limit of Linux.
const LINKS_MAX: usize = 40;
const TARGET_BYTES_MAX: usize = 4096;

enum LinkTarget {
    Folder(Oid),
    /// A file, or a path that does not exist.
    NoFolder,
    /// Outside the repository, or in a submodule.
    Unseen,
}

impl Leaves {
    /// Reports each link to a folder with rule files, and each whose target cannot be read.
    pub(super) fn look_behind_links(&mut self, repository: &Repository, root: Oid) -> Result<(), GitError> {
        for (path, blob) in std::mem::take(&mut self.links) {
            let unfit = match self.target(repository, root, &path, blob)? {
                LinkTarget::NoFolder => continue,
                LinkTarget::Unseen => UnfitReason::LinkOut,
                LinkTarget::Folder(folder)
                    if self.find_rule_files(repository, folder, path == LISTS.as_bytes())? =>
                {
                    UnfitReason::LinkedFolder
                }
                LinkTarget::Folder(_) => continue,
            };
            self.unfit.push((escaped(&path), PathKind::Script, unfit));
        }
        Ok(())
    }

    /// Resolves a link part by part, including links on the way.
    fn target(
        &mut self,
        repository: &Repository,
        root: Oid,
        path: &[u8],
        blob: Oid,
    ) -> Result<LinkTarget, GitError> {
        let mut at = parts(path);
        at.pop();
        let Some(mut ahead) = target_of(repository, blob)? else { return Ok(LinkTarget::Unseen) };
        let mut n_links = 1;
        // The parts are in reverse order, so the next one is at the end.
        while let Some(part) = ahead.pop() {
            match &*part {
                b"" | b"." => continue,
                b".." => {
                    if at.pop().is_none() {
                        return Ok(LinkTarget::Unseen);
                    }
                    continue;
                }
                _ => at.push(part),
            }
            match self.find(repository, root, &at)? {
                Some((_, ObjectType::Tree, _)) => {}
                Some((_, ObjectType::Commit, _)) => return Ok(LinkTarget::Unseen),
                Some((link, _, LINK)) if n_links < LINKS_MAX => {
                    n_links += 1;
                    at.pop();
                    let Some(further) = target_of(repository, link)? else { return Ok(LinkTarget::Unseen) };
                    ahead.extend(further);
                }
                _ => return Ok(LinkTarget::NoFolder),
            }
        }
        if at.is_empty() {
            return Ok(LinkTarget::Folder(root));
        }
        let found = self.find(repository, root, &at)?;
        Ok(found.map_or(LinkTarget::NoFolder, |(folder, ..)| LinkTarget::Folder(folder)))
    }

    /// Finds the object at a path, without following links.
    fn find(
        &mut self,
        repository: &Repository,
        root: Oid,
        path: &[Vec<u8>],
    ) -> Result<Option<(Oid, ObjectType, i32)>, GitError> {
        let (mut folder, mut found) = (root, None);
        for (depth, name) in path.iter().enumerate() {
            let tree = self.open(repository, folder)?;
            let Some(entry) = tree.iter().find(|entry| entry.name_bytes() == name.as_slice()) else {
                return Ok(None);
            };
            let kind = entry.kind().unwrap_or(ObjectType::Any);
            if kind != ObjectType::Tree && depth + 1 < path.len() {
                return Ok(None);
            }
            folder = entry.id();
            found = Some((entry.id(), kind, entry.filemode_raw()));
        }
        Ok(found)
    }

    /// Returns whether there is a rule file below a folder, or a list directly in it if `is_lists` is set.
    fn find_rule_files(
        &mut self,
        repository: &Repository,
        folder: Oid,
        is_lists: bool,
    ) -> Result<bool, GitError> {
        let mut pending = vec![(folder, is_lists)];
        while let Some((folder, has_lists)) = pending.pop() {
            for entry in &self.open(repository, folder)? {
                let name = entry.name_bytes();
                if entry.kind() == Some(ObjectType::Tree) {
                    pending.push((entry.id(), false));
                } else if name.ends_with(b".ws")
                    || name.ends_with(b".wasm")
                    || has_lists && (name.ends_with(b".txt") || name.ends_with(b".csv"))
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Returns the parts of a link's target in reverse order; `None` if it is an absolute path or too long.
fn target_of(repository: &Repository, blob: Oid) -> Result<Option<Vec<Vec<u8>>>, GitError> {
    let odb = repository.odb().map_err(GitError::Damaged)?;
    let (n_bytes, _) = odb.read_header(blob).map_err(GitError::Damaged)?;
    if n_bytes > TARGET_BYTES_MAX {
        return Ok(None);
    }
    let target = odb.read(blob).map_err(GitError::Damaged)?;
    if target.data().starts_with(b"/") {
        return Ok(None);
    }
    Ok(Some(parts(target.data()).into_iter().rev().collect()))
}

fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect()
}
