//! The thread that writes log lines. It counts lines that cannot be written, retries, and reports the number of lost
//! lines once writing works again.
//!
//! `tracing-appender` is not used for three reasons. It bounds its queue in lines but not in bytes. It does not count
//! lines that the output refuses (a pipe without a reader, a full disk). If its shutdown takes too long, it calls
//! `println!`, which panics if standard output is closed.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::queue::{BYTES_MAX, DrainedLines, LogQueue};

/// Delay between attempts after a line could not be written.
const RETRY_EVERY: Duration = Duration::from_millis(250);
/// Maximum time per wait for a non-blocking descriptor that accepts no data.
const WAIT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Bytes that a ready pipe accepts at once.
const AT_ONCE_MAX: usize = 4096;

/// Formats the line that reports the number of lost lines, with its line feed.
pub(super) type LostLine = fn(u64) -> String;

/// Starts the thread, which lives as long as the process.
///
/// # Errors
/// Returns an error if the system provides no thread.
pub(super) fn start(
    queue: Arc<LogQueue>,
    output: impl Write + AsFd + Send + 'static,
    lost_line: LostLine,
) -> io::Result<()> {
    let writer = LogWriter { queue, output, lost_line, n_untold: 0, is_within_line: false };
    thread::Builder::new().name("log".to_owned()).spawn(move || writer.run()).map(drop)
}

struct LogWriter<W> {
    queue: Arc<LogQueue>,
    output: W,
    lost_line: LostLine,
    /// Lost lines that have not been reported yet.
    n_untold: u64,
    /// Whether the last line was written only in part.
    is_within_line: bool,
}

impl<W: Write + AsFd> LogWriter<W> {
    fn run(mut self) {
        block_signals();
        let mut lines = Vec::with_capacity(BYTES_MAX);
        loop {
            let is_failing = self.n_untold > 0;
            let pause = if is_failing { RETRY_EVERY } else { Duration::ZERO };
            let DrainedLines { n_dropped } =
                self.queue.take(&mut lines, pause, is_failing.then_some(RETRY_EVERY));
            self.write_lines(&lines, n_dropped);
        }
    }

    /// Writes lines, after a report of earlier lost lines and before a report of lines dropped after these.
    fn write_lines(&mut self, lines: &[u8], n_dropped: u64) {
        self.tell();
        let unwritten = if self.n_untold == 0 { self.write(lines) } else { lines };
        let n_unwritten = unwritten.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.queue.lost(n_unwritten);
        self.n_untold += n_unwritten + n_dropped;
        if n_unwritten == 0 && n_dropped > 0 {
            self.tell();
        }
    }

    /// Reports the number of lost lines, if there are any.
    fn tell(&mut self) {
        if self.n_untold > 0 && self.write((self.lost_line)(self.n_untold).as_bytes()).is_empty() {
            self.n_untold = 0;
        }
    }

    /// Writes as much as possible; returns the rest.
    fn write<'l>(&mut self, lines: &'l [u8]) -> &'l [u8] {
        let mut rest = lines;
        if self.is_within_line && !rest.is_empty() {
            if !self.write_on(b"\n").is_empty() {
                return rest;
            }
            self.is_within_line = false;
        }
        rest = self.write_on(rest);
        let written = lines.get(..lines.len() - rest.len()).unwrap_or_default();
        self.is_within_line = written.last().map_or(self.is_within_line, |last| *last != b'\n');
        rest
    }

    fn write_on<'l>(&mut self, mut rest: &'l [u8]) -> &'l [u8] {
        while !rest.is_empty() {
            match self.output.write(rest) {
                Ok(0) => break,
                Ok(n_bytes) => rest = rest.get(n_bytes..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Another process that shares the descriptor has made it non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for(&self.output),
                Err(_) => break,
            }
        }
        rest
    }
}

/// Blocks two signals that would stop or end the process because of a log line. SIGTTOU occurs in the background of a
/// terminal with `stty tostop`; SIGXFSZ occurs when the log file reaches the size limit of the process. If they are
/// blocked, the first write succeeds and the second returns an error.
fn block_signals() {
    let signals: SigSet = [Signal::SIGTTOU, Signal::SIGXFSZ].into_iter().collect();
    // Both signals can be blocked; a failure changes nothing.
    let _ = signals.thread_block();
}

fn wait_for(output: &impl AsFd) {
    // Independent of the result, the next write reports the state.
    let _ = poll(&mut [PollFd::new(output, PollFlags::OUT)], Some(&WAIT));
}

/// Writes a line without waiting, for use if the system provides no thread. A ready pipe accepts `AT_ONCE_MAX` bytes at
/// once.
pub(super) fn write_without_waiting(mut to: impl Write + AsFd, line: &[u8]) {
    let is_ready = poll(&mut [PollFd::new(&to, PollFlags::OUT)], Some(&Timespec::default()))
        .is_ok_and(|n_ready| n_ready == 1);
    if is_ready {
        to.write_all(line.get(..AT_ONCE_MAX).unwrap_or(line)).ok();
    }
}
