//! What Linux tells of a process: its memory and its children.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// Memory it holds now, and the most it held since [`forget_peak`], in KiB.
#[must_use]
pub fn resident_kib(pid: u32) -> (u64, u64) {
    (field(pid, "VmRSS:"), field(pid, "VmHWM:"))
}

/// From here on the most is counted anew.
///
/// # Panics
/// When the process is gone or not ours.
pub fn forget_peak(pid: u32) {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("the process is ours");
}

/// A number of its status.
///
/// # Panics
/// When the process is gone, or its status has no such field.
#[must_use]
pub fn field(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.expect("a status has this field")
}

/// Time that processors have spent on it, in milliseconds.
///
/// # Panics
/// When the process is gone.
#[must_use]
pub fn processor_ms(pid: u32) -> u64 {
    let ticks = stat(pid).expect("the process is there").into_iter().skip(11).take(2);
    10 * ticks.map(|ticks| ticks.parse::<u64>().expect("a number of ticks")).sum::<u64>()
}

/// The processes that it started and that are not yet forgotten, dead ones among them.
///
/// # Panics
/// When there is no `/proc`.
#[must_use]
pub fn children(pid: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("there is a /proc").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|child| parent(*child) == Some(pid)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.get(1)?.parse().ok()
}

/// What the system says of it in one line, from its state on.
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything, in parentheses.
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// Kills one process at once.
///
/// # Panics
/// When the signal cannot be sent.
pub fn kill(pid: u32) {
    let kill = ["-c", "kill -KILL \"$1\"", "sh", &pid.to_string()];
    assert!(
        Command::new("sh").args(kill).status().expect("a shell can be run").success(),
        "{pid} is not killed"
    );
}

/// Sees to it that this process, and those that it starts from here on, may have so many files open.
///
/// # Panics
/// When the system does not let it.
pub fn allow_files(n_files: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < n_files) {
        let wanted = Rlimit { current: Some(n_files), maximum: limit.maximum };
        setrlimit(Resource::Nofile, wanted).expect("so many files may be open");
    }
}

/// Limits the files that another process may have open; what it was before.
///
/// # Panics
/// When the process is gone.
pub fn limit_files(pid: u32, n_files: u64) -> u64 {
    limit(pid, Resource::Nofile, n_files)
}

/// Limits the addresses that another process may use, in bytes; what it was before.
///
/// # Panics
/// When the process is gone.
pub fn limit_memory(pid: u32, n_bytes: u64) -> u64 {
    limit(pid, Resource::As, n_bytes)
}

fn limit(pid: u32, resource: Resource, most: u64) -> u64 {
    let pid = Pid::from_raw(pid.try_into().expect("a number of a process"));
    let limit = Rlimit { current: Some(most), maximum: getrlimit(resource).maximum };
    prlimit(pid, resource, limit).expect("the process is ours").current.unwrap_or(u64::MAX)
}
