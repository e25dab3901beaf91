//! Reports and log entries for files whose present content is not in force.

use tollgate_compiler::{Severity, headline, render};
use tollgate_model::instruction::InstructionSource;

use crate::intake::IntakeError;
use crate::intake::tree::{FailedScript, UnreadableFile};

#[derive(Debug)]
pub(in crate::intake) enum FileError {
    Unreadable(String),
    /// The content does not match the file name.
    Mistaken {
        message: String,
        line: Option<usize>,
    },
    /// Another instruction or list has the name.
    Taken {
        what: &'static str,
        name: String,
        by: InstructionSource,
    },
    TooManyLists,
    /// The list would lose entries; text for people.
    HeldBack(String),
    Refused(IntakeError),
}

/// A file that does not take effect, with its log entry.
#[derive(Debug)]
pub(in crate::intake) struct FileFailure {
    pub(in crate::intake) script: FailedScript,
    headline: String,
    /// Rendered diagnostics; empty if there are none.
    drawn: String,
}

impl FileFailure {
    pub(in crate::intake) fn new(path: &str, text: &str, error: &FileError) -> Self {
        let of = |message: String| FailedScript {
            path: path.to_owned(),
            line: None,
            column: None,
            message,
            has_last_good: false,
        };
        if let FileError::Refused(IntakeError::Compile(diagnostics)) = error {
            let first = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
            let script = FailedScript {
                line: first.map(|first| first.line),
                column: first.map(|first| first.column),
                ..of(first.map(|first| first.message.clone()).unwrap_or_default())
            };
            let drawn = render(text, path, diagnostics, false);
            return Self { script, headline: headline(diagnostics), drawn };
        }
        if let FileError::Mistaken { line, .. } = error {
            let script = FailedScript { line: *line, ..of(error.to_string()) };
            return Self { script, headline: "a rule file is refused".to_owned(), drawn: String::new() };
        }
        let headline = match error {
            FileError::Unreadable(_) => "a rule file cannot be read",
            FileError::Mistaken { .. }
            | FileError::HeldBack(_)
            | FileError::Taken { .. }
            | FileError::TooManyLists
            | FileError::Refused(_) => "a rule file is refused",
        };
        Self { script: of(error.to_string()), headline: headline.to_owned(), drawn: String::new() }
    }

    /// Creates the failure of a refused list.
    pub(in crate::intake) fn of_list(script: FailedScript) -> Self {
        Self { script, headline: "a list is refused".to_owned(), drawn: String::new() }
    }

    /// Logs the failure; called once, when it is new.
    pub(in crate::intake) fn log(&self) {
        let FailedScript { path, line, column, message, has_last_good } = &self.script;
        if self.drawn.is_empty() {
            tracing::error!(path, line, error = message, has_last_good, "{}", self.headline);
        } else {
            let diagnostics = &self.drawn;
            tracing::error!(path, line, column, diagnostics, has_last_good, "{}", self.headline);
        }
    }
}

impl From<&UnreadableFile> for FileError {
    fn from(error: &UnreadableFile) -> Self {
        let message = error.to_string();
        match error {
            UnreadableFile::NoList(why) => Self::Mistaken { message, line: why.line() },
            UnreadableFile::Pointer(_) => Self::Mistaken { message, line: None },
            _ => Self::Unreadable(message),
        }
    }
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(why) | Self::HeldBack(why) | Self::Mistaken { message: why, .. } => {
                f.write_str(why)
            }
            Self::Taken { what, name, by } => {
                write!(f, "{what} named `{name}` exists already, from {by}; the first keeps the name")
            }
            Self::TooManyLists => f.write_str("there is no room for another list, or for one of this size"),
            Self::Refused(error) => error.fmt(f),
        }
    }
}
