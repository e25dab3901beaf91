//! A complete set of rule files from one source, and the report of taking it.

mod assembly;
mod compiling;
mod failure;
mod known;
mod lists;
mod placeholders;

use std::io;

use tollgate_model::instruction::ignored::IgnoredFiles;
use tollgate_model::instruction::{InstructionSource, RuleContent};
use tollgate_model::named_list::format::{self, ContentPointer, NotAList};
use tollgate_model::named_list::oddities::{self, ListWarning};
use tollgate_model::named_list::table;

pub(super) use assembly::{RemovedFiles, TreeChange, assemble};
pub(super) use compiling::CompileThreads;
pub(super) use failure::FileFailure;
pub(super) use known::{CurrentRules, KnownInstruction};

/// All rule files and lists of a directory or a Git commit. A file that is missing here was removed from the source.
#[derive(Debug)]
pub struct RuleTree {
    /// Source of the files.
    pub origin: TreeOrigin,
    /// Scripts and modules; the order of their paths decides which file gets a new name.
    pub rules: Vec<RuleFile>,
    /// Named lists.
    pub lists: Vec<ListFile>,
    /// Paths with unknown content: rules and lists in force from there remain.
    pub unreadable: Vec<UnreadablePath>,
    /// Other files that look like rules or lists; `None` if that is unknown.
    pub ignored: Option<IgnoredFiles>,
}

/// A path at and below which nothing can be read, for example a broken link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadablePath {
    /// Path relative to the source; empty for all of it.
    pub path: String,
    /// Reason, for people; `None` if it was reported elsewhere.
    pub why: Option<String>,
}

/// A source of rule files. Files of one source never affect rules of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeOrigin {
    /// The rules directory.
    Directory,
    /// A Git repository at a commit.
    Git {
        /// Commit id in hexadecimal digits.
        commit: String,
    },
}

/// A `*.ws` or `*.wasm` file.
#[derive(Debug)]
pub struct RuleFile {
    /// Path relative to the source, with `/` as separator.
    pub path: String,
    /// Content, or the reason why it is unavailable; then its last good version stays in force.
    pub content: Result<RuleContent, UnreadableFile>,
}

/// A `lists/*.txt` or `lists/*.csv` file.
#[derive(Debug)]
pub struct ListFile {
    /// Name, without the `$`.
    pub name: String,
    /// Path, like that of a rule file.
    pub path: String,
    /// Text with one entry per line, or the reason why it is unavailable; then its last good version stays in force.
    pub text: Result<String, UnreadableFile>,
    /// Warnings about the content, with the lines of the file.
    pub warnings: Vec<ListWarning>,
}

/// Reason why the content of a file is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableFile {
    /// An I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file exceeds the size limit.
    #[error("the file has {bytes} bytes, at most {bytes_max} are allowed")]
    TooLong {
        /// Size, in bytes.
        bytes: u64,
        /// Maximum size, in bytes.
        bytes_max: u64,
    },
    /// The file is not UTF-8.
    #[error("the file is not UTF-8; save it as UTF-8")]
    NotUtf8,
    /// The file is not a valid list.
    #[error("the file is not a list (`{}`): {_0}", .0.code())]
    NoList(NotAList),
    /// The file is a pointer to content that was not fetched.
    #[error("the file is not a rule: {0}")]
    Pointer(ContentPointer),
    /// The file may not be read; text for people, in lower case.
    #[error("{0}")]
    Refused(String),
    /// The file is unchanged and was not read again; not reported.
    #[error("the file is as it was taken")]
    AsTaken,
    /// The file is being written and will be read later; not reported.
    #[error("the file is being written")]
    BeingWritten,
}

/// Result of taking a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// Version of the rule set in force afterwards; the previous one if nothing changed.
    pub version: u64,
    /// Paths of rule and list files that are newly in force.
    pub loaded: Vec<String>,
    /// Paths of files whose content or path changed.
    pub changed: Vec<String>,
    /// Paths of removed files, whose instructions and lists are removed too.
    pub removed: Vec<String>,
    /// Number of unchanged files.
    pub n_unchanged: usize,
    /// Files whose present content is not in force.
    pub failed: Vec<FailedScript>,
}

/// A file whose present content is not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedScript {
    /// Path of the file.
    pub path: String,
    /// Line of the first error, from 1; `None` if the error has no position.
    pub line: Option<usize>,
    /// Column of the error, from 1, in characters.
    pub column: Option<usize>,
    /// Error, for people; one line.
    pub message: String,
    /// Whether an earlier version of the file is in force.
    pub has_last_good: bool,
}

impl RuleTree {
    /// Creates a tree with unknown content: everything in force from this source remains.
    #[must_use]
    pub fn unknown(origin: TreeOrigin) -> Self {
        let all = UnreadablePath { path: String::new(), why: None };
        Self { origin, rules: Vec::new(), lists: Vec::new(), unreadable: vec![all], ignored: None }
    }

    /// Returns whether the content at this path is unknown.
    pub(super) fn hides(&self, path: &str) -> bool {
        self.unreadable.iter().any(|unreadable| unreadable.covers(path))
    }

    /// Returns the files and other paths that cannot be read, and the reasons.
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
    /// Creates the list of a file; its name is that of the file without `.txt` or `.csv`.
    #[must_use]
    pub fn new(path: String, text: Result<String, UnreadableFile>) -> Self {
        let file = path.rsplit('/').next().unwrap_or_default();
        let (name, is_table) = match (file.strip_suffix(".txt"), file.strip_suffix(".csv")) {
            (None, Some(name)) => (name.to_owned(), true),
            (name, _) => (name.unwrap_or(file).to_owned(), false),
        };
        let read = text.and_then(|text| {
            let read = if is_table {
                table::read_table(&name, &text).map(|list| (list.text, list.warnings))
            } else {
                format::check(&text).map(|()| {
                    let warnings = oddities::of_text(&text);
                    (text, warnings)
                })
            };
            read.map_err(UnreadableFile::NoList)
        });
        match read {
            Ok((text, warnings)) => Self { name, path, text: Ok(text), warnings },
            Err(error) => Self { name, path, text: Err(error), warnings: Vec::new() },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TreeKind {
    Directory,
    Git,
}

impl TreeOrigin {
    pub(super) const fn kind(&self) -> TreeKind {
        match self {
            Self::Directory => TreeKind::Directory,
            Self::Git { .. } => TreeKind::Git,
        }
    }

    pub(super) fn source(&self, path: &str) -> InstructionSource {
        match self {
            Self::Directory => InstructionSource::File { path: path.to_owned() },
            Self::Git { commit } => InstructionSource::Git { path: path.to_owned(), commit: commit.clone() },
        }
    }
}

/// Formats the source for people.
impl std::fmt::Display for TreeKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Directory => "the rules directory",
            Self::Git => "the repository",
        })
    }
}

impl TreeKind {
    pub(super) const fn of_source(source: &InstructionSource) -> Option<Self> {
        match source {
            InstructionSource::Api | InstructionSource::Upload => None,
            InstructionSource::File { .. } => Some(Self::Directory),
            InstructionSource::Git { .. } => Some(Self::Git),
        }
    }
}

impl UnreadableFile {
    /// Returns whether the reason is reported.
    pub(super) const fn is_worth_a_word(&self) -> bool {
        !matches!(self, Self::AsTaken | Self::BeingWritten)
    }
}
