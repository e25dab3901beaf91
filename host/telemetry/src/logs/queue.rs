//! The queue between threads that log and the writer thread: a buffer bounded in lines and in bytes.
//!
//! ```text
//!  any thread ──push──▶ LogQueue ──take: all lines at once──▶ writer thread ──▶ standard error
//!                          │ full: the line is dropped and counted
//! ```
//!
//! INVARIANT: a caller of [`LogQueue::push`] waits for nothing but the copy of a line. Nothing is allocated after the
//! start: the queue and the writer have one buffer of [`BYTES_MAX`] bytes each and exchange them.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Maximum number of lines waiting to be written.
pub(super) const LINES_MAX: usize = 8_192;
/// Maximum number of bytes waiting to be written.
pub(super) const BYTES_MAX: usize = 1 << 20;
/// Time for which the writer lets lines gather: under load it wakes up 500 times a second instead of once per line.
const GATHER: Duration = Duration::from_millis(2);

/// The waiting lines, and the count of lost ones.
#[derive(Debug)]
pub(super) struct LogQueue {
    waiting: Mutex<QueuedLines>,
    /// Signalled when a line arrives or a flush starts.
    arrived: Condvar,
    /// Signalled when all waiting lines are written or lost.
    done: Condvar,
    /// Lines lost since the start of the process.
    n_lost: AtomicU64,
}

#[derive(Debug)]
struct QueuedLines {
    lines: Vec<u8>,
    n_lines: usize,
    /// Lines dropped since the last `take`.
    n_dropped: u64,
    /// Lines added, taken by the writer, and written or lost, since the start.
    n_added: u64,
    n_taken: u64,
    n_done: u64,
    is_flushing: bool,
}

/// Result of a `take`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DrainedLines {
    /// Lines that were dropped after those taken.
    pub(super) n_dropped: u64,
}

impl LogQueue {
    pub(super) fn new() -> Self {
        let waiting = QueuedLines {
            lines: Vec::with_capacity(BYTES_MAX),
            n_lines: 0,
            n_dropped: 0,
            n_added: 0,
            n_taken: 0,
            n_done: 0,
            is_flushing: false,
        };
        Self {
            waiting: Mutex::new(waiting),
            arrived: Condvar::new(),
            done: Condvar::new(),
            n_lost: AtomicU64::new(0),
        }
    }

    /// Adds a line, which ends with a line feed; drops and counts it if the queue is full.
    pub(super) fn push(&self, line: &[u8]) {
        let mut waiting = self.waiting.lock();
        if waiting.n_lines >= LINES_MAX || waiting.lines.len() + line.len() > BYTES_MAX {
            waiting.n_dropped += 1;
            drop(waiting);
            self.lost(1);
            return;
        }
        let was_empty = waiting.lines.is_empty();
        waiting.lines.extend_from_slice(line);
        waiting.n_lines += 1;
        waiting.n_added += 1;
        drop(waiting);
        if was_empty {
            self.arrived.notify_one();
        }
    }

    /// Waits for lines and exchanges the buffers. Returns no later than after `within`, even without lines, and not
    /// before `pause` ends, unless a flush is in progress.
    pub(super) fn take(
        &self,
        lines: &mut Vec<u8>,
        pause: Duration,
        within: Option<Duration>,
    ) -> DrainedLines {
        lines.clear();
        let started = Instant::now();
        let mut waiting = self.waiting.lock();
        waiting.n_done = waiting.n_taken;
        self.done.notify_all();
        while waiting.lines.is_empty() {
            match within.map(|within| started + within) {
                None => self.arrived.wait(&mut waiting),
                Some(end) if self.arrived.wait_until(&mut waiting, end).timed_out() => break,
                Some(_) => {}
            }
        }
        let end = (started + pause).max(Instant::now() + GATHER);
        while !waiting.is_flushing && !self.arrived.wait_until(&mut waiting, end).timed_out() {}
        mem::swap(&mut waiting.lines, lines);
        waiting.n_lines = 0;
        waiting.n_taken = waiting.n_added;
        DrainedLines { n_dropped: mem::take(&mut waiting.n_dropped) }
    }

    /// Counts lines as lost.
    pub(super) fn lost(&self, n_lines: u64) {
        self.n_lost.fetch_add(n_lines, Ordering::Relaxed);
    }

    pub(super) fn n_lost(&self) -> u64 {
        self.n_lost.load(Ordering::Relaxed)
    }

    /// Waits at most `within` until all earlier lines are written or lost; returns whether they are.
    pub(super) fn flush(&self, within: Duration) -> bool {
        let end = Instant::now() + within;
        let mut waiting = self.waiting.lock();
        let n_before = waiting.n_added;
        waiting.is_flushing = true;
        self.arrived.notify_all();
        while waiting.n_done < n_before {
            if self.done.wait_until(&mut waiting, end).timed_out() {
                break;
            }
        }
        waiting.is_flushing = false;
        waiting.n_done >= n_before
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    const NO_PAUSE: Duration = Duration::ZERO;

    fn take(queue: &LogQueue) -> (String, u64) {
        let mut lines = Vec::new();
        let DrainedLines { n_dropped } = queue.take(&mut lines, NO_PAUSE, Some(NO_PAUSE));
        (String::from_utf8(lines).unwrap(), n_dropped)
    }

    #[test]
    fn lines_are_taken_together_and_in_order() {
        let queue = LogQueue::new();
        queue.push(b"one\n");
        queue.push(b"two\n");
        assert_eq!(take(&queue), ("one\ntwo\n".to_owned(), 0));
        assert_eq!(take(&queue), (String::new(), 0));
    }

    #[test]
    fn a_full_queue_drops_and_counts_further_lines() {
        for (line, n_taken) in [("x\n".to_owned(), LINES_MAX), ("x".repeat(1023) + "\n", BYTES_MAX / 1024)] {
            let queue = LogQueue::new();
            (0..n_taken + 3).for_each(|_| queue.push(line.as_bytes()));
            let (lines, n_dropped) = take(&queue);
            assert_eq!((lines.len(), n_dropped, queue.n_lost()), (n_taken * line.len(), 3, 3));
            queue.push(b"after\n");
            assert_eq!(take(&queue), ("after\n".to_owned(), 0));
        }
    }

    #[test]
    fn a_flush_ends_when_everything_is_written_or_its_time_is_up() {
        let queue = Arc::new(LogQueue::new());
        assert!(queue.flush(Duration::ZERO), "nothing is there to be written");
        queue.push(b"one\n");
        let started = Instant::now();
        assert!(!queue.flush(Duration::from_millis(30)), "nobody writes");
        assert!(started.elapsed() >= Duration::from_millis(30));
        let writer = Arc::clone(&queue);
        let writer = thread::spawn(move || {
            let mut lines = Vec::new();
            // One hour: the flush ends the pause.
            writer.take(&mut lines, Duration::from_secs(3600), None);
            writer.take(&mut Vec::new(), NO_PAUSE, Some(NO_PAUSE));
            lines
        });
        assert!(queue.flush(Duration::from_secs(60)));
        assert_eq!(writer.join().unwrap(), b"one\n");
    }
}
