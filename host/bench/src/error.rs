//! Why something could not be measured.

use std::io;

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
pub(super) enum BenchError {
    /// A file, a process or a socket fails.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was to be done.
        what: String,
        /// Why it was not.
        source: io::Error,
    },
    /// The throwaway service ends by itself, or is not ready in time.
    #[error("the service does not start:\n{0}")]
    Start(String),
    /// Fewer rules are in force than were written.
    #[error("{in_force} of {n_rules} rules are in force; the service refused the others")]
    Rules {
        /// Written.
        n_rules: usize,
        /// In force.
        in_force: usize,
    },
    /// An answer is none, or not the one that must come.
    #[error("{0}")]
    Answer(String),
    /// An address is none that can be measured.
    #[error("`{0}` is not of the form `http://host:port`")]
    Url(String),
    /// Too little came back to say anything.
    #[error("nothing was answered with 200: {0}")]
    Nothing(String),
    /// Somebody pressed the keys.
    #[error("interrupted")]
    Interrupted,
}

impl BenchError {
    /// For `map_err`.
    pub(super) fn io(what: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what: what.to_owned(), source }
    }
}
