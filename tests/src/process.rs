//! Information about Linux processes (memory, children, listening ports) and signals to them.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// Returns the current resident memory and its peak since [`reset_peak`], in KiB.
#[must_use]
pub fn resident_kib(pid: u32) -> (u64, u64) {
    (field(pid, "VmRSS:"), field(pid, "VmHWM:"))
}

/// Resets the peak of resident memory.
///
/// # Panics
/// Panics if the process is gone or belongs to another user.
pub fn reset_peak(pid: u32) {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("the process is ours");
}

/// Returns a number of `/proc/<pid>/status`.
///
/// # Panics
/// Panics if the process is gone or the field is missing.
#[must_use]
pub fn field(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.expect("a status has this field")
}

/// Returns the CPU time of a process in milliseconds.
///
/// # Panics
/// Panics if the process is gone.
#[must_use]
pub fn processor_ms(pid: u32) -> u64 {
    let ticks = stat(pid).expect("the process is there").into_iter().skip(11).take(2);
    10 * ticks.map(|ticks| ticks.parse::<u64>().expect("a number of ticks")).sum::<u64>()
}

/// Returns the child processes, including zombies.
///
/// # Panics
/// Panics if there is no `/proc`.
#[must_use]
pub fn children(pid: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("there is a /proc").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|child| parent(*child) == Some(pid)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.get(1)?.parse().ok()
}

/// Returns the fields of `/proc/<pid>/stat` from the state on.
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before them is in parentheses and may contain anything.
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// Kills one process with SIGKILL.
///
/// # Panics
/// Panics if the signal cannot be sent.
pub fn kill(pid: u32) {
    signal(pid, "KILL");
}

/// Sends a signal, named without `SIG`, to one process.
///
/// # Panics
/// Panics if it cannot be sent.
pub fn signal(pid: u32, name: &str) {
    // The shell's builtin `kill`; minimal systems have no other.
    let kill = ["-c", "kill -\"$1\" \"$2\"", "sh", name, &pid.to_string()];
    assert!(
        Command::new("sh").args(kill).status().expect("a shell can be run").success(),
        "SIG{name} is not sent to {pid}"
    );
}

/// Returns the loopback port on which a process listens, for callers without access to its log.
#[must_use]
pub fn listening_port(pid: u32) -> Option<u16> {
    /// State code of a listening socket.
    const LISTENS: &str = "0A";
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let files: Vec<_> = files.filter_map(|entry| fs::read_link(entry.path()).ok()).collect();
    let sockets = fs::read_to_string(format!("/proc/{pid}/net/tcp")).ok()?;
    sockets.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let socket = format!("socket:[{inode}]");
        let is_its = *state == LISTENS && files.iter().any(|file| file.as_os_str() == socket.as_str());
        is_its.then(|| u16::from_str_radix(address.rsplit_once(':')?.1, 16).ok())?
    })
}

/// Raises the open-file limit of this process and its future children to at least this number.
///
/// # Panics
/// Panics if the system refuses.
pub fn allow_files(n_files: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < n_files) {
        let wanted = Rlimit { current: Some(n_files), maximum: limit.maximum };
        setrlimit(Resource::Nofile, wanted).expect("so many files may be open");
    }
}

/// Limits the open files of another process. Returns the previous limit.
///
/// # Panics
/// Panics if the process is gone.
pub fn limit_files(pid: u32, n_files: u64) -> u64 {
    limit(pid, Resource::Nofile, n_files)
}

/// Limits the address space of another process, in bytes. Returns the previous limit.
///
/// # Panics
/// Panics if the process is gone.
pub fn limit_memory(pid: u32, n_bytes: u64) -> u64 {
    limit(pid, Resource::As, n_bytes)
}

/// Limits the size of files that another process writes, in bytes.
///
/// # Panics
/// Panics if the process is gone.
pub fn limit_file_size(pid: u32, n_bytes: u64) {
    limit(pid, Resource::Fsize, n_bytes);
}

fn limit(pid: u32, resource: Resource, most: u64) -> u64 {
    let pid = Pid::from_raw(pid.try_into().expect("a number of a process"));
    let limit = Rlimit { current: Some(most), maximum: getrlimit(resource).maximum };
    prlimit(pid, resource, limit).expect("the process is ours").current.unwrap_or(u64::MAX)
}
