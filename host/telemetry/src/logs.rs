//! Log lines on standard error: one line per event, without control characters from any input.
//!
//! ```text
//!  event ──format──▶ escaped line ──▶ queue, bounded ──▶ writer thread ──▶ standard error
//! ```
//!
//! No caller waits for a line to be written. Lines that cannot be written, because standard error is full, closed or on
//! a full disk, are counted. The first line that can be written again reports how many were lost.
//! Standard error belongs to the process, and so do the queue and its counters.

mod escaped_line;
mod queue;
mod writer;

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::{SecondsFormat, Utc};
use serde_json::json;

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::LogFormat;
use crate::metrics::set_lines_lost;
use escaped_line::EscapedLine;
use queue::LogQueue;

/// Maximum time that the exit of the process waits for unwritten lines.
const FLUSH_MAX: Duration = Duration::from_secs(1);
/// Maximum time that a panicking thread waits; the panic may be about to end the process, as in a thread of the store.
const PANIC_FLUSH_MAX: Duration = Duration::from_millis(100);

/// Log queue of this process, once logging has started.
static LINES: OnceLock<Arc<LogQueue>> = OnceLock::new();

/// The reason why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    /// The filter is invalid.
    #[error("the log filter `{filter}` cannot be read")]
    Filter {
        /// The filter.
        filter: String,
        /// The parse error.
        #[source]
        source: ParseError,
    },
    /// Logging was set up before in this process.
    #[error("logging is set up already")]
    AlreadySet,
    /// The system provides no thread.
    #[error("the thread that writes the log cannot be started; {NO_THREADS}")]
    Thread(#[source] io::Error),
}

/// An error and its causes in one line: `cannot use the file: permission denied`.
#[derive(Debug)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        let mut cure = cure(self.0);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cure = cure.or_else(|| self::cure(error));
            cause = error.source();
        }
        cure.map_or(Ok(()), |cure| write!(f, "; {cure}"))
    }
}

/// Advice if the system provides no more threads or processes.
pub const NO_THREADS: &str = "the system provides no more processes or threads: raise TasksMax= of the unit, pids.max of the control group, or RLIMIT_NPROC";

/// Returns advice for an error of the system, if its kind suggests any.
fn cure(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let error = error.downcast_ref::<io::Error>()?;
    Some(match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => "mount it writable, or choose another directory",
        io::ErrorKind::PermissionDenied => "give the user of the service access to it",
        io::ErrorKind::StorageFull => "make room on the disk",
        _ => return None,
    })
}

/// Sends the events that pass `filter` (`info`, `warn,tollgate=debug`, …) to standard error, including panics. Call it
/// once per process.
///
/// # Errors
/// See [`LogsError`].
pub fn init(format: LogFormat, filter: &str) -> Result<(), LogsError> {
    let lines = Arc::new(LogQueue::new());
    let queued = QueuedLine(Arc::clone(&lines));
    let subscriber = subscriber(format, filter, move || queued.clone())?;
    writer::start(Arc::clone(&lines), io::stderr(), lost_line(format)).map_err(LogsError::Thread)?;
    LINES.set(lines).map_err(|_| LogsError::AlreadySet)?;
    set_lines_lost(lines_lost);
    tracing::subscriber::set_global_default(subscriber).map_err(|_| LogsError::AlreadySet)?;
    panic::set_hook(Box::new(log_panic));
    Ok(())
}

/// Writes a plain line to standard error if the service cannot start: before [`init`], independent of any filter. It
/// does not wait for the write.
pub fn complain(line: &str) {
    let line = format!("{line}\n");
    let lines = LINES.get_or_init(|| {
        let lines = Arc::new(LogQueue::new());
        if writer::start(Arc::clone(&lines), io::stderr(), lost_line(LogFormat::Text)).is_err() {
            writer::write_without_waiting(io::stderr(), line.as_bytes());
        }
        lines
    });
    lines.push(line.as_bytes());
}

/// Waits at most one second until all logged lines are written or lost; the last step of the process.
pub fn flush() {
    flush_within(FLUSH_MAX);
}

fn flush_within(time_max: Duration) {
    if let Some(lines) = LINES.get() {
        lines.flush(time_max);
    }
}

fn lines_lost() -> u64 {
    LINES.get().map_or(0, |lines| lines.n_lost())
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
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        // Internal errors would be printed to standard error directly, and panic if it is closed.
        .log_internal_errors(false)
        .with_writer(EscapingWriter(writer));
    Ok(match format {
        LogFormat::Json => {
            Box::new(lines.json().flatten_event(true).with_current_span(false).with_span_list(false).finish())
        }
        LogFormat::Text => Box::new(lines.finish()),
    })
}

/// Logs a panic as an event with its message and location.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let words = panic.payload_as_str().unwrap_or("no message");
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(panic.words = words, panic.place = location, "the code panicked");
    flush_within(PANIC_FLUSH_MAX);
}

/// Returns the formatter of the line that reports lost lines. It is not an event: a filter must not drop it, and a full
/// queue has no space for it.
fn lost_line(format: LogFormat) -> writer::LostLine {
    fn now() -> String {
        Utc::now().to_rfc3339_opts(SecondsFormat::Micros, true)
    }
    const MESSAGE: &str = "log lines were lost: they could not be written";
    match format {
        LogFormat::Json => |lines| {
            let (timestamp, target) = (now(), module_path!());
            let line = json!({"timestamp": timestamp, "level": "WARN", "message": MESSAGE, "lines": lines, "target": target});
            format!("{line}\n")
        },
        LogFormat::Text => |lines| format!("{}  WARN {}: {MESSAGE} lines={lines}\n", now(), module_path!()),
    }
}

/// Adds each line to the queue.
#[derive(Clone)]
struct QueuedLine(Arc<LogQueue>);

impl Write for QueuedLine {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct EscapingWriter<W>(W);

impl<'w, W: MakeWriter<'w>> MakeWriter<'w> for EscapingWriter<W> {
    type Writer = EscapedLine<W::Writer>;

    fn make_writer(&'w self) -> Self::Writer {
        EscapedLine::new(self.0.make_writer())
    }
}

#[cfg(test)]
mod tests;
