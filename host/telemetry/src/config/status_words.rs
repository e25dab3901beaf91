//! The table of status words in force: the built-in one, with the words of the operator's file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tollgate_model::transaction::{StatusWords, StatusWordsError};

/// The reason why the operator's file cannot be used. The service does not start then: without the file, a status may
/// mean another stage.
#[derive(Debug, thiserror::Error)]
pub enum StatusWordsFileError {
    /// The file cannot be read.
    #[error("`{}` cannot be read; set SERVICE_STATUS_WORDS to a readable file", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is no table of status words.
    #[error("`{}`, which SERVICE_STATUS_WORDS names, is not valid", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The first fault.
        #[source]
        source: StatusWordsError,
    },
}

/// Returns the table with the words of this file.
///
/// # Errors
/// See [`StatusWordsFileError`].
pub fn read_status_words(path: Option<&Path>) -> Result<Arc<StatusWords>, StatusWordsFileError> {
    let Some(path) = path else { return Ok(StatusWords::built_in()) };
    let text = fs::read_to_string(path)
        .map_err(|source| StatusWordsFileError::Unreadable { path: path.to_owned(), source })?;
    let words = StatusWords::with_file(&text)
        .map_err(|source| StatusWordsFileError::Invalid { path: path.to_owned(), source })?;
    tracing::info!(path = %path.display(), digest = words.digest_text(), "status words in force");
    Ok(Arc::new(words))
}
