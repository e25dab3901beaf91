//! Resource limits that every Unix system supports.

use std::io;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Resource limits of a process. Lower limits inherited from the parent stay in force.
#[derive(Debug, Clone, Copy)]
pub struct ProcessLimits {
    /// Processor time, in seconds. The kernel sends `SIGXCPU` when it is used up, and kills the process a second later.
    pub processor_seconds: u64,
    /// Writable memory, in bytes.
    pub memory_bytes: u64,
    /// Address space, including the program itself, in bytes.
    pub address_bytes: u64,
    /// Largest file, in bytes.
    pub file_bytes: u64,
    /// Maximum number of open files, pipes and sockets.
    pub open_files: u64,
}

/// Niceness of such a process. When it competes with the service for a core, it gets about a quarter of it.
const NICENESS: i32 = 5;

/// A limit that the system refused.
#[derive(Debug, thiserror::Error)]
#[error("the system refuses {call}: {source}")]
pub struct LimitError {
    /// The call that failed.
    pub call: &'static str,
    /// The error of the call.
    pub source: io::Error,
}

/// Applies the limits to this process. It also lowers its priority if permitted, disables core dumps, and lets the
/// process end together with the thread that started it.
///
/// # Errors
/// Fails if the system refuses a limit.
pub fn limit(limits: &ProcessLimits) -> Result<(), LimitError> {
    // When memory runs out, the kernel ends this process before the service.
    #[cfg(target_os = "linux")]
    std::fs::write("/proc/self/oom_score_adj", "1000").ok();
    for (call, resource, most) in [
        ("setrlimit(RLIMIT_CORE)", Resource::Core, 0),
        ("setrlimit(RLIMIT_FSIZE)", Resource::Fsize, limits.file_bytes),
        ("setrlimit(RLIMIT_NOFILE)", Resource::Nofile, limits.open_files),
        ("setrlimit(RLIMIT_DATA)", Resource::Data, limits.memory_bytes),
        ("setrlimit(RLIMIT_AS)", Resource::As, limits.address_bytes),
    ] {
        set(resource, most, most).map_err(|source| LimitError { call, source })?;
    }
    limit_processor(limits.processor_seconds)
        .map_err(|source| LimitError { call: "setrlimit(RLIMIT_CPU)", source })?;
    // A process that may not lower its priority works all the same.
    rustix::process::nice(NICENESS).ok();
    // A thread of the service waits for this process, so that thread ends only with the service.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|error| LimitError { call: "prctl(PR_SET_PDEATHSIG)", source: error.into() })?;
    Ok(())
}

/// Makes files that this process creates accessible to its own user alone, whatever umask it inherited. Call it before
/// any other thread starts.
pub fn keep_files_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Returns an explanation for running out of memory, if inherited limits are lower than `limits`.
#[must_use]
pub fn too_little_memory(limits: &ProcessLimits) -> Option<String> {
    let most = |resource| getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let kinds = [
        (Resource::As, "RLIMIT_AS", "LimitAS", limits.address_bytes),
        (Resource::Data, "RLIMIT_DATA", "LimitDATA", limits.memory_bytes),
    ];
    let (left, name, setting, wanted) = kinds
        .into_iter()
        .map(|(resource, name, setting, wanted)| (most(resource), name, setting, wanted))
        .find(|(left, _, _, wanted)| left < wanted)?;
    Some(format!(
        "it may use {} MiB, but the service was started with {name} of {} MiB: raise it (`{setting}=` in a systemd unit, or `ulimit`)",
        wanted >> 20,
        left >> 20
    ))
}

/// Lowers the limit of processor time of this process, in seconds.
///
/// # Errors
/// Fails if the system refuses the limit.
pub fn limit_processor(seconds: u64) -> io::Result<()> {
    set(Resource::Cpu, seconds, seconds.saturating_add(1))
}

/// Raises the limit of open files and connections to `wanted`, up to the hard limit, and returns the resulting limit.
pub fn open_files(wanted: u64) -> u64 {
    let current = || getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = getrlimit(Resource::Nofile).maximum;
    if current() < wanted {
        let asked = wanted.min(most.unwrap_or(u64::MAX));
        // If this is refused, the current limit remains.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(asked), maximum: most });
    }
    current()
}

fn set(resource: Resource, most: u64, most_ever: u64) -> io::Result<()> {
    let before = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(most.min(before)), maximum: Some(most_ever.min(before)) };
    Ok(setrlimit(resource, limit)?)
}
