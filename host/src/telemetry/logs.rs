//! Log lines on standard error: one event, one line, no control character in it whatever a caller sent.

mod escaped_line;

use std::error::Error;
use std::fmt;
use std::io;
use std::panic::{self, PanicHookInfo};

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::LogFormat;
use escaped_line::EscapedLine;

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    /// The filter cannot be read.
    #[error("the log filter `{filter}` cannot be read")]
    Filter {
        /// As it was given.
        filter: String,
        /// What is wrong with it.
        #[source]
        source: ParseError,
    },
    /// Somebody in this process set up logging before.
    #[error("logging is set up already")]
    AlreadySet,
}

/// An error and what caused it, in one line: `cannot use the file: permission denied`.
#[derive(Debug)]
pub struct Causes<'a>(pub &'a dyn Error);

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// Sends the events of this process that pass `filter` (`info`, `warn,tollgate=debug`, …) to standard error, panics
/// among them. Once per process.
///
/// # Errors
/// See [`LogsError`].
pub fn init(format: LogFormat, filter: &str) -> Result<(), LogsError> {
    let subscriber = subscriber(format, filter, io::stderr)?;
    tracing::subscriber::set_global_default(subscriber).map_err(|_| LogsError::AlreadySet)?;
    panic::set_hook(Box::new(log_panic));
    Ok(())
}

fn subscriber<W>(
    format: LogFormat,
    filter: &str,
    writer: W,
) -> Result<Box<dyn Subscriber + Send + Sync>, LogsError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_new(filter)
        .map_err(|source| LogsError::Filter { filter: filter.to_owned(), source })?;
    let lines =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Escaping(writer));
    Ok(match format {
        LogFormat::Json => {
            Box::new(lines.json().flatten_event(true).with_current_span(false).with_span_list(false).finish())
        }
        LogFormat::Text => Box::new(lines.finish()),
    })
}

/// A panic is one line like any other event, its place beside its words.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let words = panic.payload_as_str().unwrap_or("without words");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(panic.words = words, panic.place = place, "the code panicked");
}

/// Hands out writers that escape.
struct Escaping<W>(W);

impl<'w, W: MakeWriter<'w>> MakeWriter<'w> for Escaping<W> {
    type Writer = EscapedLine<W::Writer>;

    fn make_writer(&'w self) -> Self::Writer {
        EscapedLine::new(self.0.make_writer())
    }
}

#[cfg(test)]
mod tests;
