//! What a worker takes away from itself before it touches anything of a stranger's.

use rustix::process::{Resource, Rlimit, setrlimit};

use super::message::{Request, Walls};
use crate::git::TRANSFER_BYTES_MAX;

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod places;

/// Memory that is written to, in bytes: a few of the largest objects at a time.
const MEMORY_BYTES_MAX: u64 = 256 << 20;
/// All memory, with packs that are mapped and the program itself, in bytes.
const ADDRESS_BYTES_MAX: u64 = 2 << 30;
/// Largest file: a whole transfer, and what an index of it or a thin pack adds.
const FILE_BYTES_MAX: u64 = TRANSFER_BYTES_MAX + (64 << 20);
/// Every fetch with news leaves a pack in the clone, and libgit2 keeps each open.
const OPEN_FILES_MAX: u64 = 4_096;
/// Processor time in seconds; the clock on the wall, which the service looks at, is stricter as a rule.
const PROCESSOR_SECONDS_MAX: u64 = 600;

/// Limits that every system has.
pub(super) fn limit() -> rustix::io::Result<()> {
    let limits = [
        (Resource::Core, 0),
        (Resource::Fsize, FILE_BYTES_MAX),
        (Resource::Cpu, PROCESSOR_SECONDS_MAX),
        (Resource::Nofile, OPEN_FILES_MAX),
        (Resource::Data, MEMORY_BYTES_MAX),
        (Resource::As, ADDRESS_BYTES_MAX),
    ];
    for (resource, most) in limits {
        set(resource, most)?;
    }
    // A thread of the service waits for this process as long as it lives: that one's end is the service's.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

fn set(resource: Resource, most: u64) -> rustix::io::Result<()> {
    // Whoever started the service may have set a lower one.
    let most = rustix::process::getrlimit(resource).maximum.map_or(most, |before| before.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
}

/// What Linux has beyond that, as far as this kernel has it.
pub(super) fn raise(request: &Request) -> Walls {
    let seconds = request.time_max_ms.div_ceil(1000) + 1;
    set(Resource::Cpu, seconds).ok();
    #[cfg(target_os = "linux")]
    return Walls { landlock: places::confine(request), seccomp: calls::confine() };
    #[cfg(not(target_os = "linux"))]
    Walls { landlock: super::message::Wall::Missing, seccomp: super::message::Wall::Missing }
}
