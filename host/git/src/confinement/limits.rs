//! Limits that every system has.

use std::io;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How much a process may use. Whoever started the service may have set lower limits, which stay.
#[derive(Debug, Clone, Copy)]
pub struct ProcessLimits {
    /// Processor time, in seconds. The system says so when it is used up (`SIGXCPU`), and kills a second later.
    pub processor_seconds: u64,
    /// Memory that is written to, in bytes.
    pub memory_bytes: u64,
    /// All memory, with the program itself, in bytes.
    pub address_bytes: u64,
    /// Largest file, in bytes.
    pub file_bytes: u64,
    /// Most open files, pipes and sockets.
    pub open_files: u64,
}

/// How far such a process stands back behind the service where both want a core: it gets a quarter of one.
const NICENESS: i32 = 5;

/// The system refuses a limit.
#[derive(Debug, thiserror::Error)]
#[error("the system refuses {call}: {source}")]
pub struct LimitError {
    /// What was asked for.
    pub call: &'static str,
    /// Its answer.
    pub source: io::Error,
}

/// Sets them for this process, which from here on leaves the cores to the service, if it may stand back, leaves no dump of itself
/// and ends with the thread that started it.
///
/// # Errors
/// When the system refuses one.
pub fn limit(limits: &ProcessLimits) -> Result<(), LimitError> {
    // Where memory runs out, this process is ended before the service.
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
    // Whoever may not stand back works all the same.
    rustix::process::nice(NICENESS).ok();
    // A thread of the service waits for this process as long as it lives: that one's end is the service's.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|error| LimitError { call: "prctl(PR_SET_PDEATHSIG)", source: error.into() })?;
    Ok(())
}

/// Files that this process makes from here on are for its own user alone, and always for that one, whatever mask it was started with.
/// To be called before any other thread is there.
pub fn keep_files_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Why a process that runs out of memory has too little of it: whoever started the service left it less than these limits.
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
        "it may take {} MiB, and the service was started with {name} of {} MiB: raise it (`{setting}=` of a systemd unit, `ulimit`)",
        wanted >> 20,
        left >> 20
    ))
}

/// Lowers the limit of processor time of this process, in seconds.
///
/// # Errors
/// When the system refuses it.
pub fn limit_processor(seconds: u64) -> io::Result<()> {
    set(Resource::Cpu, seconds, seconds.saturating_add(1))
}

/// How many files and connections this process may have open, after asking the system for this many: whoever started it
/// may have left room between what it gets and what it may ask for.
pub fn open_files(wanted: u64) -> u64 {
    let current = || getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = getrlimit(Resource::Nofile).maximum;
    if current() < wanted {
        let asked = wanted.min(most.unwrap_or(u64::MAX));
        // A refusal leaves what there is.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(asked), maximum: most });
    }
    current()
}

fn set(resource: Resource, most: u64, most_ever: u64) -> io::Result<()> {
    let before = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(most.min(before)), maximum: Some(most_ever.min(before)) };
    Ok(setrlimit(resource, limit)?)
}
