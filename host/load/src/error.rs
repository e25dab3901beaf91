//! Errors of a measurement.

use std::io;

use crate::plot::DrawError;

/// The reason why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A file, process or socket operation failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// The operation.
        what: String,
        /// The cause.
        source: io::Error,
    },
    /// The temporary service exited, or was not ready in time.
    #[error("the service did not start:\n{0}")]
    Start(String),
    /// The service refused some of the rules.
    #[error("{in_force} of {n_rules} rules are in force; the service refused the others")]
    Rules {
        /// Rules written.
        n_rules: usize,
        /// Rules in force.
        in_force: usize,
    },
    /// A response was invalid or unexpected.
    #[error("{0}")]
    Answer(String),
    /// The URL has an unsupported form.
    #[error("`{0}` is not of the form `http://host:port`")]
    Url(String),
    /// The service returned too few answers to evaluate.
    #[error("no request was answered with 200: {0}")]
    Nothing(String),
    /// The charts could not be drawn.
    #[error("the charts cannot be drawn: {0}")]
    Charts(#[from] DrawError),
    /// A directory is not empty.
    #[error("`{0}` is not empty; the demo writes made-up payments and takes only an empty directory")]
    NotEmpty(String),
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
}

impl BenchError {
    pub(super) fn io(what: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what: what.to_owned(), source }
    }
}
