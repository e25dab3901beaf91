//! Main function of a worker: confines itself, then runs one task.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::{process, thread};

use super::message::{TaskOutcome, WorkerReply, WorkerRequest};
use super::{task, walls};
use tollgate_process::note;

const REQUEST_BYTES_MAX: u64 = 256 * 1024;
/// Exit code of a worker that cannot work here, has no valid request, or has lost its service.
pub(super) const FAILED: u8 = 3;

/// Reads a request from standard input, runs it, and writes the reply to standard output. Returns the exit code: 0 once
/// the reply is written.
///
/// Only the service starts this. It gives up rights of its process irrevocably, and exits when standard input closes.
#[must_use]
pub fn work(needs_walls: bool) -> u8 {
    note("setting its limits");
    if let Err(error) = walls::limit() {
        note(&error.to_string());
        return FAILED;
    }
    note("waiting for the request");
    let mut questions = BufReader::new(io::stdin()).take(REQUEST_BYTES_MAX);
    let mut line = Vec::new();
    let Ok(_) = questions.read_until(b'\n', &mut line) else { return FAILED };
    let Ok(request) = serde_json::from_slice::<WorkerRequest>(&line) else { return FAILED };
    // From here on the relay is the only way to reach a remote. libgit2 has not run yet.
    note("setting up confinement (Landlock, seccomp)");
    let walls = walls::raise(&request);
    if needs_walls && walls.is_one_missing() {
        note(&walls.needed());
        return FAILED;
    }
    note("starting a thread");
    let is_watching = thread::Builder::new().spawn(|| {
        io::copy(&mut questions.into_inner(), &mut io::sink()).ok();
        process::exit(i32::from(FAILED));
    });
    if is_watching.is_err() {
        return FAILED;
    }
    note("talking with the remote");
    let outcome = task::run_task(&request).unwrap_or_else(TaskOutcome::Failed);
    let reply = serde_json::to_vec(&WorkerReply { walls, outcome });
    let said = reply.map_err(io::Error::from).and_then(|reply| io::stdout().write_all(&reply));
    if said.and_then(|()| io::stdout().flush()).is_ok() { 0 } else { FAILED }
}
