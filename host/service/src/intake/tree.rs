//! All that a place of rule files holds at one moment, and what came of taking it.

mod assembly;
mod compiling;
mod failure;
mod known;
mod lists;

use std::io;

use tollgate_model::instruction::{InstructionSource, RuleContent};
use tollgate_model::named_list::format::{self, ContentPointer, NotAList};
use tollgate_model::named_list::table;

pub(super) use assembly::{NextRuleSet, RemovedFiles, assemble};
pub(super) use compiling::CompileThreads;
pub(super) use failure::FileFailure;
pub(super) use known::{CurrentRules, KnownInstruction};

/// The rule files and lists of a directory or of a Git commit, whole: what is not among them has been removed there.
#[derive(Debug)]
pub struct RuleTree {
    /// Where they lie.
    pub origin: TreeOrigin,
    /// The scripts and modules; the order of their paths decides who gets a new name.
    pub rules: Vec<RuleFile>,
    /// The named lists.
    pub lists: Vec<ListFile>,
    /// Paths of which nothing is known, whatever may lie there: what was in force from there stays.
    pub unreadable: Vec<UnreadablePath>,
}

/// A path at and below which nothing can be read, as a link that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadablePath {
    /// Relative to the top of its place; empty for all of it.
    pub path: String,
    /// Why, for people; `None` where that was said elsewhere.
    pub why: Option<String>,
}

/// A place rule files come from. What one place gives never touches what another gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeOrigin {
    /// The rules directory.
    Directory,
    /// A Git repository, as of a commit.
    Git {
        /// In hexadecimal digits.
        commit: String,
    },
}

/// One `*.ws` or `*.wasm` file.
#[derive(Debug)]
pub struct RuleFile {
    /// Relative to the top of its place, with `/` between its parts.
    pub path: String,
    /// What it holds, or why that is not to be had: then its last good version stays in force.
    pub content: Result<RuleContent, UnreadableFile>,
}

/// One `lists/*.txt` or `lists/*.csv` file.
#[derive(Debug)]
pub struct ListFile {
    /// Without the `$`.
    pub name: String,
    /// As that of a rule.
    pub path: String,
    /// Its text, an entry a line, or why it is not to be had: then its last good version stays in force.
    pub text: Result<String, UnreadableFile>,
}

/// Why a file's content is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableFile {
    /// The system says no.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is over the limit.
    #[error("the file has {bytes} bytes, it may have {bytes_max}")]
    TooLong {
        /// How many it has.
        bytes: u64,
        /// How many it may have.
        bytes_max: u64,
    },
    /// It is no text.
    #[error("the file is not UTF-8; save it as UTF-8")]
    NotUtf8,
    /// It is no list.
    #[error("the file is no list (`{}`): {_0}", .0.code())]
    NoList(NotAList),
    /// It stands for a rule that was not fetched.
    #[error("the file is no rule: {0}")]
    Pointer(ContentPointer),
    /// It is not what may be read there; for people, lower case.
    #[error("{0}")]
    Refused(String),
    /// It lies there as it was taken, and was not read again; not worth a word either.
    #[error("the file is as it was taken")]
    AsTaken,
    /// Somebody is writing it; not worth a word, it will be read when it is whole.
    #[error("the file is being written")]
    BeingWritten,
}

/// What came of taking a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// The version of the rule set in force afterwards; the one from before when nothing changed.
    pub version: u64,
    /// Paths of files, lists too, that were not in force before.
    pub loaded: Vec<String>,
    /// Paths of files whose content or place changed.
    pub changed: Vec<String>,
    /// Paths of files that are gone, and their instructions and lists with them.
    pub removed: Vec<String>,
    /// How many files were in force as they lie there already.
    pub n_unchanged: usize,
    /// Files that are not in force as they lie there.
    pub failed: Vec<FailedScript>,
}

/// A file that is not in force as it lies there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedScript {
    /// Its path.
    pub path: String,
    /// The line of the first error, from 1; `None` where no place in the file is at fault.
    pub line: Option<usize>,
    /// And its column, from 1, in characters.
    pub column: Option<usize>,
    /// What is wrong, for people; one line.
    pub message: String,
    /// Whether an earlier version of it is in force.
    pub has_last_good: bool,
}

impl RuleTree {
    /// A place of which nothing is known now: all that was in force from there stays.
    #[must_use]
    pub fn unknown(origin: TreeOrigin) -> Self {
        let all = UnreadablePath { path: String::new(), why: None };
        Self { origin, rules: Vec::new(), lists: Vec::new(), unreadable: vec![all] }
    }

    /// Whether nobody can say what lies at this path now.
    pub(super) fn hides(&self, path: &str) -> bool {
        self.unreadable.iter().any(|unreadable| unreadable.covers(path))
    }

    /// The files and other paths that cannot be read, and why.
    pub fn refusals(&self) -> impl Iterator<Item = (&str, String)> {
        let of_rules = self.rules.iter().filter_map(|file| Some((&*file.path, file.content.as_ref().err()?)));
        let of_lists = self.lists.iter().filter_map(|file| Some((&*file.path, file.text.as_ref().err()?)));
        let of_files = of_rules.chain(of_lists).filter(|(_, error)| error.is_worth_a_word());
        let of_paths = self.unreadable.iter().filter_map(|path| Some((&*path.path, path.why.clone()?)));
        of_files.map(|(path, error)| (path, error.to_string())).chain(of_paths)
    }
}

impl UnreadablePath {
    pub(super) fn covers(&self, path: &str) -> bool {
        self.path.is_empty()
            || path.strip_prefix(&*self.path).is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }
}

impl ListFile {
    /// The list of a file: its name is that of the file without `.txt` or `.csv`.
    #[must_use]
    pub fn new(path: String, text: Result<String, UnreadableFile>) -> Self {
        let file = path.rsplit('/').next().unwrap_or_default();
        let (name, is_table) = match (file.strip_suffix(".txt"), file.strip_suffix(".csv")) {
            (None, Some(name)) => (name.to_owned(), true),
            (name, _) => (name.unwrap_or(file).to_owned(), false),
        };
        let text = text.and_then(|text| {
            let read = if is_table {
                table::text_of_table(&name, &text)
            } else {
                format::check(&text).map(|()| text)
            };
            read.map_err(UnreadableFile::NoList)
        });
        Self { name, path, text }
    }
}

/// The kind of a place, by which it is remembered from one tree to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TreeKind {
    Directory,
    Git,
}

impl TreeOrigin {
    pub(super) const fn place(&self) -> TreeKind {
        match self {
            Self::Directory => TreeKind::Directory,
            Self::Git { .. } => TreeKind::Git,
        }
    }

    /// The source of a file at this path.
    pub(super) fn source(&self, path: &str) -> InstructionSource {
        match self {
            Self::Directory => InstructionSource::File { path: path.to_owned() },
            Self::Git { commit } => InstructionSource::Git { path: path.to_owned(), commit: commit.clone() },
        }
    }
}

impl TreeKind {
    pub(super) const fn of(source: &InstructionSource) -> Option<Self> {
        match source {
            InstructionSource::Api | InstructionSource::Upload => None,
            InstructionSource::File { .. } => Some(Self::Directory),
            InstructionSource::Git { .. } => Some(Self::Git),
        }
    }
}

impl UnreadableFile {
    /// Whether somebody should hear of it.
    pub(super) const fn is_worth_a_word(&self) -> bool {
        !matches!(self, Self::AsTaken | Self::BeingWritten)
    }
}
