//! The thread that writes log lines, and what it does when they cannot be written: it counts them, tries again, and says how many
//! were lost once it works again.
//!
//! It is our own rather than `tracing-appender`'s: that one bounds its queue in lines and not in bytes, does not count what the
//! writer behind it refuses (a pipe without a reader, a full disk), and prints with `println!` when its end takes too long,
//! which panics where standard output is gone.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::queue::{BYTES_MAX, DrainedLines, LogQueue};

/// After a line could not be written, how long until the next one is tried, or the line about those that were lost.
const RETRY_EVERY: Duration = Duration::from_millis(250);
/// How long the writer waits at a time for a descriptor that does not block and takes nothing.
const WAIT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// So many bytes a pipe that is ready takes at once.
const AT_ONCE_MAX: usize = 4096;

/// The line that says how many were lost, with its line feed.
pub(super) type LostLine = fn(u64) -> String;

/// Starts the thread. It lives as long as the process.
///
/// # Errors
/// When the system gives no thread.
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
    /// Lines lost that no line tells of yet.
    n_untold: u64,
    /// Whether the last line was written in part.
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

    /// Writes these lines, behind the line about those that could not be written before, and before the line about those that
    /// found no room after them.
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

    /// Says how many lines were lost, if any were.
    fn tell(&mut self) {
        if self.n_untold > 0 && self.write((self.lost_line)(self.n_untold).as_bytes()).is_empty() {
            self.n_untold = 0;
        }
    }

    /// Writes as much as can be written; what cannot.
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
                // Who shares the descriptor with us has made it non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for(&self.output),
                Err(_) => break,
            }
        }
        rest
    }
}

/// Two signals would stop or end the whole process for a line: SIGTTOU, when it runs in the background of a terminal that wants
/// to hear of that (`stty tostop`), and SIGXFSZ, when the log's file is as long as the limit of the process allows. Where they are
/// blocked, the first line is written and the second an error.
fn block_signals() {
    let signals: SigSet = [Signal::SIGTTOU, Signal::SIGXFSZ].into_iter().collect();
    // These can be blocked, and who cannot goes on as before.
    let _ = signals.thread_block();
}

fn wait_for(output: &impl AsFd) {
    // However it ends, the next write says how things stand.
    let _ = poll(&mut [PollFd::new(output, PollFlags::OUT)], Some(&WAIT));
}

/// Where the system gives no thread: writes a line if that needs no waiting, which a pipe says of as much as it takes at once.
pub(super) fn write_without_waiting(mut to: impl Write + AsFd, line: &[u8]) {
    let is_ready = poll(&mut [PollFd::new(&to, PollFlags::OUT)], Some(&Timespec::default()))
        .is_ok_and(|n_ready| n_ready == 1);
    if is_ready {
        to.write_all(line.get(..AT_ONCE_MAX).unwrap_or(line)).ok();
    }
}
