//! The clone on this machine: a `.git` directory, and beside it the rule files as a work tree.
//!
//! A new clone is created beside the old one and renamed into place, so a complete clone exists at any time.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository, RepositoryInitOptions};

use super::repository::open_repository;
use super::tree::{self, Leaf, TreeFiles};
use super::work_tree::{self, Changes, WorkTree, make_directory};
use super::worker::Worker;
use super::{GitError, RepositoryAddress};

const IN_FORCE: &str = "refs/tollgate/in-force";
/// Reference of the commit whose rules are about to be in force.
const TAKING: &str = "refs/tollgate/taking";
/// Marker file of a new clone whose rules are in force: it may be renamed into place.
const READY: &str = ".git/tollgate-ready";
const REPLACED_MAX: u32 = 8;

/// Id of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitId(pub(super) Oid);

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl CommitId {
    /// Parses hexadecimal digits.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        Oid::from_str(digits).ok().map(Self)
    }
}

/// Directory of the clones, and the worker for operations with a remote.
#[derive(Debug, Clone)]
pub struct CloneDirectory {
    root: PathBuf,
    worker: Worker,
}

/// An open clone.
pub struct LocalClone {
    worker: Worker,
    git_directory: PathBuf,
    repository: Repository,
    work_tree: WorkTree,
}

/// Distance between two commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Distance {
    /// Commits only in ours.
    pub ahead: usize,
    /// Commits only in theirs.
    pub behind: usize,
}

/// Result of advancing the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advance {
    /// The work tree is at the commit.
    Done,
    /// These files changed both locally and in the commit; the work tree stays unchanged.
    InTheWay(Vec<String>),
}

impl CloneDirectory {
    /// Creates a handle for this directory.
    #[must_use]
    pub const fn at(root: PathBuf, worker: Worker) -> Self {
        Self { root, worker }
    }

    /// Returns the work tree of the clone in use.
    #[must_use]
    pub fn rules(&self) -> PathBuf {
        self.root.join("rules")
    }

    /// Returns a path beside the clones.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn fresh(&self) -> PathBuf {
        self.root.join("rules.new")
    }

    /// Returns the clone that was replaced last; it may contain uncommitted changes.
    #[must_use]
    pub fn replaced(&self) -> PathBuf {
        self.root.join("rules.replaced")
    }

    /// Opens the clone in use; `None` if there is none. Finishes an interrupted replacement. The replaced clone stays
    /// aside, because it may be of another repository.
    ///
    /// # Errors
    /// [`GitError::Damaged`] if the clone cannot be read; [`GitError::Disk`].
    pub fn open(&self) -> Result<Option<LocalClone>, GitError> {
        let rules = self.rules();
        if !rules.exists() && self.fresh().join(READY).exists() {
            fs::rename(self.fresh(), &rules).map_err(GitError::disk(&rules))?;
        }
        if rules.join(".git").exists() { self.open_at(&rules).map(Some) } else { Ok(None) }
    }

    /// Creates an empty clone beside the one in use.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn begin(&self, address: &RepositoryAddress) -> Result<LocalClone, GitError> {
        let fresh = self.fresh();
        remove_all(&fresh)?;
        make_directory(&fresh).map_err(GitError::disk(&fresh))?;
        let mut options = RepositoryInitOptions::new();
        options.bare(true).no_reinit(true).external_template(false).initial_head("main");
        let git = fresh.join(".git");
        Repository::init_opts(&git, &options).map_err(GitError::Damaged)?;
        // The configuration that `git` would write, for users of the command line. The address holds no credentials.
        let config = format!(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = false\n\tlogallrefupdates = false\n\
             \tfsyncObjectFiles = true\n[remote \"origin\"]\n\turl = \"{address}\"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
        );
        fs::write(git.join("config"), config).map_err(GitError::disk(&git))?;
        self.open_at(&fresh)
    }

    /// Replaces the clone in use by the one that [`CloneDirectory::begin`] created, and keeps the old one aside.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn install_begun(&self) -> Result<LocalClone, GitError> {
        let rules = self.rules();
        let ready = self.fresh().join(READY);
        fs::write(&ready, "").map_err(GitError::disk(&ready))?;
        if rules.exists() {
            self.make_way_aside()?;
            fs::rename(&rules, self.replaced()).map_err(GitError::disk(&rules))?;
        }
        fs::rename(self.fresh(), &rules).map_err(GitError::disk(&rules))?;
        self.open_at(&rules)
    }

    /// Renumbers replaced clones, because any of them may contain uncommitted changes.
    fn make_way_aside(&self) -> Result<(), GitError> {
        let aside = |number: u32| match number {
            1 => self.replaced(),
            number => self.root.join(format!("rules.replaced.{number}")),
        };
        remove_all(&aside(REPLACED_MAX))?;
        for number in (1..REPLACED_MAX).rev().filter(|number| aside(*number).exists()) {
            fs::rename(aside(number), aside(number + 1)).map_err(GitError::disk(&aside(number)))?;
        }
        Ok(())
    }

    pub(super) fn open_at(&self, path: &Path) -> Result<LocalClone, GitError> {
        let git_directory = path.join(".git");
        let repository = open_repository(&git_directory).map_err(GitError::Damaged)?;
        Ok(LocalClone {
            worker: self.worker.clone(),
            git_directory,
            repository,
            work_tree: WorkTree::at(path.to_owned()),
        })
    }
}

impl LocalClone {
    pub(super) fn git_directory(&self) -> &Path {
        &self.git_directory
    }

    pub(super) const fn worker(&self) -> &Worker {
        &self.worker
    }

    pub(super) const fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the work tree.
    #[must_use]
    pub const fn work_tree(&self) -> &WorkTree {
        &self.work_tree
    }

    /// Returns the address of its remote.
    #[must_use]
    pub fn address(&self) -> Option<RepositoryAddress> {
        let config = self.repository.config().ok()?;
        let text = config.get_string("remote.origin.url").ok()?;
        RepositoryAddress::parse(&text).ok().map(|(address, _)| address)
    }

    /// Returns its branch.
    #[must_use]
    pub fn branch(&self) -> Option<String> {
        let head = self.repository.find_reference("HEAD").ok()?;
        let target = head.symbolic_target().ok()??;
        target.strip_prefix("refs/heads/").map(str::to_owned)
    }

    /// Returns the commit of the local branch and the work tree.
    #[must_use]
    pub fn head(&self) -> Option<CommitId> {
        self.commit_at("HEAD")
    }

    /// Returns the commit whose rules are in force.
    #[must_use]
    pub fn in_force(&self) -> Option<CommitId> {
        self.commit_at(IN_FORCE)
    }

    /// Returns the head of the remote branch as last fetched.
    #[must_use]
    pub fn remote_head(&self) -> Option<CommitId> {
        self.commit_at(&format!("refs/remotes/origin/{}", self.branch()?))
    }

    fn commit_at(&self, reference: &str) -> Option<CommitId> {
        self.repository.refname_to_id(reference).ok().map(CommitId)
    }

    /// Returns whether the commits that the clone refers to can be read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let heads = [self.head(), self.in_force(), self.remote_head()];
        // A commit over a limit is readable; it is refused later, for its size.
        let is_readable =
            |commit: CommitId| !matches!(tree::leaves(&self.repository, commit.0), Err(GitError::Damaged(_)));
        self.branch().is_some() && heads.into_iter().flatten().all(is_readable)
    }

    /// Records the commit whose rules are in force.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn set_in_force(&self, commit: CommitId) -> Result<(), GitError> {
        self.set_reference(IN_FORCE, commit)
    }

    /// Records the commit whose rules are about to be in force. After a crash before [`LocalClone::set_in_force`], the
    /// commit is in force if the stored rule set names it.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn set_taking(&self, commit: CommitId) -> Result<(), GitError> {
        self.set_reference(TAKING, commit)
    }

    /// Returns the commit last recorded by [`LocalClone::set_taking`].
    #[must_use]
    pub fn taking(&self) -> Option<CommitId> {
        self.commit_at(TAKING)
    }

    pub(super) fn set_reference(&self, name: &str, commit: CommitId) -> Result<(), GitError> {
        self.repository.reference(name, commit.0, true, "tollgate").map(drop).map_err(GitError::Damaged)
    }

    /// Sets the branch of this clone; the branch has no commit yet.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn set_branch(&self, branch: &str) -> Result<(), GitError> {
        self.repository.set_head(&format!("refs/heads/{branch}")).map_err(GitError::Damaged)
    }

    /// Returns the distance between two commits.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn distance(&self, ours: CommitId, theirs: CommitId) -> Result<Distance, GitError> {
        let (ahead, behind) =
            self.repository.graph_ahead_behind(ours.0, theirs.0).map_err(GitError::Damaged)?;
        Ok(Distance { ahead, behind })
    }

    /// Returns whether `later` is `earlier` or one of its descendants.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn follows(&self, later: CommitId, earlier: CommitId) -> Result<bool, GitError> {
        if later == earlier {
            return Ok(true);
        }
        // A commit that is missing here has no descendants here.
        if self.repository.find_commit(earlier.0).is_err() {
            return Ok(false);
        }
        self.repository.graph_descendant_of(later.0, earlier.0).map_err(GitError::Damaged)
    }

    /// Reads the rule files of a commit.
    ///
    /// # Errors
    /// [`GitError::OverLimit`] and [`GitError::Damaged`].
    pub fn rules_of(&self, commit: CommitId) -> Result<TreeFiles, GitError> {
        tree::read(&self.repository, commit.0)
    }

    /// Returns the differences between the work tree and the local branch.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn changes(&self) -> Result<Changes, GitError> {
        let base = self.leaves_of(self.head())?;
        Ok(Changes::between(&base, &self.work_tree.contents()?))
    }

    /// Moves the local branch and the work tree to a commit, unless that would overwrite a local change.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn advance(&self, branch: &str, commit: CommitId) -> Result<Advance, GitError> {
        let from = self.leaves_of(self.head())?;
        let to = self.leaves_of(Some(commit))?;
        let here = self.work_tree.contents()?;
        let mut in_the_way = work_tree::in_the_way(&from, &to, &here);
        let is_to_be_put = |path: &&String| from.get(*path) != to.get(*path) && !here.contains_key(*path);
        let has_no_room = |path: &&String| !self.work_tree.has_room(path);
        in_the_way.extend(to.keys().filter(is_to_be_put).filter(has_no_room).cloned());
        in_the_way.sort();
        in_the_way.dedup();
        if !in_the_way.is_empty() {
            return Ok(Advance::InTheWay(in_the_way));
        }
        for path in from.keys().filter(|path| !to.contains_key(*path)) {
            self.work_tree.remove(path)?;
        }
        for (path, leaf) in &to {
            let is_changed = from.get(path) != Some(leaf);
            if is_changed && here.get(path) != Some(&Some(leaf.id)) {
                self.put(path, leaf)?;
            }
        }
        // The reference moves last. After a crash, a work tree ahead of its branch is recognized; one behind its branch
        // would seem changed.
        self.set_reference(&format!("refs/heads/{branch}"), commit)?;
        Ok(Advance::Done)
    }

    pub(super) fn put(&self, path: &str, leaf: &Leaf) -> Result<(), GitError> {
        let odb = self.repository.odb().map_err(GitError::Damaged)?;
        let (bytes, _) = odb.read_header(leaf.id).map_err(GitError::Damaged)?;
        if bytes > tree::bytes_max(leaf.kind) {
            return Ok(());
        }
        let blob = odb.read(leaf.id).map_err(GitError::Damaged)?;
        self.work_tree.write(path, blob.data())
    }

    /// Returns the rule files of a commit. Files too large to write are omitted; otherwise they would always seem
    /// deleted.
    pub(super) fn leaves_of(&self, commit: Option<CommitId>) -> Result<BTreeMap<String, Leaf>, GitError> {
        let Some(commit) = commit else { return Ok(BTreeMap::new()) };
        let mut leaves = tree::leaves(&self.repository, commit.0)?.fit;
        let odb = self.repository.odb().map_err(GitError::Damaged)?;
        leaves.retain(|_, leaf| {
            odb.read_header(leaf.id).is_ok_and(|(bytes, _)| bytes <= tree::bytes_max(leaf.kind))
        });
        Ok(leaves)
    }
}

fn remove_all(path: &Path) -> Result<(), GitError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(GitError::disk(path)(error)),
        _ => Ok(()),
    }
}
