//! Memory available to the service, and the share that the history may take.

use std::fmt;
#[cfg(target_os = "linux")]
use std::fs;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};

/// Maximum default for the history, in bytes.
const DEFAULT_MAX: u64 = 2 << 30;
/// Minimum default for the history, in bytes.
const DEFAULT_MIN: u64 = 16 << 20;
/// Divisor of the available memory for the default. docs/operations.md lists the other memory needs of the process.
const DEFAULT_PART: u64 = 3;
/// Memory of the process besides the history, whatever its size, in bytes.
const BESIDE: u64 = 128 << 20;

/// The smallest bound among control groups, process limits and the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryBound {
    /// Available memory, in bytes.
    pub bytes: u64,
    /// Source of the bound.
    pub of: BoundSource,
}

/// Source of a memory bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundSource {
    /// A control group, with the file that contains the bound.
    ControlGroup(PathBuf),
    /// A resource limit of the process, by name.
    Process(&'static str),
    /// The physical memory of the machine.
    Machine,
}

/// Memory limit of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryMemory {
    /// Limit, in bytes.
    pub bytes: usize,
    /// Memory available to the process, if it could be determined.
    pub bound: Option<MemoryBound>,
}

impl HistoryMemory {
    /// Returns the configured limit, or a share of the available memory.
    #[must_use]
    pub fn new(set: Option<usize>) -> Self {
        Self::within(set, memory_bound())
    }

    fn within(set: Option<usize>, bound: Option<MemoryBound>) -> Self {
        let part = || {
            let there_is = bound.as_ref().map_or(u64::MAX, |bound| bound.bytes);
            usize::try_from((there_is / DEFAULT_PART).clamp(DEFAULT_MIN, DEFAULT_MAX)).unwrap_or(usize::MAX)
        };
        Self { bytes: set.unwrap_or_else(part), bound }
    }

    /// Returns a warning if the limit does not fit into the available memory.
    #[must_use]
    pub fn lack(&self) -> Option<String> {
        let bound = self.bound.as_ref()?;
        // A restart takes half of the history's memory on top.
        let needed = (self.bytes as u64).saturating_mul(3) / 2 + BESIDE;
        let fits = bound.bytes.saturating_sub(BESIDE).saturating_mul(2) / 3;
        if needed > bound.bytes && fits < DEFAULT_MIN {
            let least = (DEFAULT_MIN * 3 / 2 + BESIDE) >> 20;
            return Some(format!(
                "{bound}, but the process needs at least {least} MiB: the system may kill the service; give it more memory"
            ));
        }
        (needed > bound.bytes).then(|| {
            format!(
                "the history may use {} MiB, for which the process needs {} MiB, but {bound}: the system may kill the service; lower \
                 SERVICE_MEMORY_LIMIT to {} MiB or give it more memory",
                self.bytes >> 20,
                needed >> 20,
                fits >> 20,
            )
        })
    }
}

impl fmt::Display for HistoryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB for the history", self.bytes >> 20)?;
        self.bound.as_ref().map_or(Ok(()), |bound| write!(f, "; {bound}"))
    }
}

impl fmt::Display for MemoryBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.bytes >> 20;
        match &self.of {
            BoundSource::ControlGroup(file) => {
                write!(f, "the control group allows {mib} MiB ({})", file.display())
            }
            BoundSource::Process(name) => write!(f, "{name} allows {mib} MiB"),
            BoundSource::Machine => write!(f, "the machine has {mib} MiB"),
        }
    }
}

/// Returns `None` where the system reports no bound.
fn memory_bound() -> Option<MemoryBound> {
    let of_process = [("RLIMIT_AS", Resource::As), ("RLIMIT_DATA", Resource::Data)].into_iter().filter_map(
        |(name, resource)| {
            Some(MemoryBound { bytes: getrlimit(resource).current?, of: BoundSource::Process(name) })
        },
    );
    of_groups().into_iter().chain(of_process).chain(of_machine()).min_by_key(|bound| bound.bytes)
}

#[cfg(target_os = "linux")]
fn of_machine() -> Option<MemoryBound> {
    // Unlike `/proc/meminfo`, this call is available wherever the service runs.
    let info = rustix::system::sysinfo();
    Some(MemoryBound { bytes: info.totalram.saturating_mul(info.mem_unit.into()), of: BoundSource::Machine })
}

#[cfg(not(target_os = "linux"))]
fn of_machine() -> Option<MemoryBound> {
    None
}

#[cfg(not(target_os = "linux"))]
fn of_groups() -> Vec<MemoryBound> {
    Vec::new()
}

/// Returns the bounds of every control group of this process, version 1 or 2, up to its visible root.
#[cfg(target_os = "linux")]
fn of_groups() -> Vec<MemoryBound> {
    let Ok(process) = procfs::process::Process::myself() else { return Vec::new() };
    let (Ok(groups), Ok(mounts)) = (process.cgroups(), process.mountinfo()) else { return Vec::new() };
    let mut bounds = Vec::new();
    for mount in &mounts {
        let is_v1 = mount.fs_type == "cgroup" && mount.super_options.contains_key("memory");
        if !is_v1 && mount.fs_type != "cgroup2" {
            continue;
        }
        let is_ours = |controllers: &[String]| {
            if is_v1 {
                controllers.iter().any(|name| name == "memory")
            } else {
                controllers.iter().all(String::is_empty)
            }
        };
        let group = (&groups).into_iter().find(|group| is_ours(&group.controllers));
        let names: &[&str] = if is_v1 { &["memory.limit_in_bytes"] } else { &["memory.max", "memory.high"] };
        let below = group
            .and_then(|group| Path::new(&group.pathname).strip_prefix(&mount.root).ok().map(Path::to_owned));
        bounds.extend(bounds_up_from(&mount.mount_point, &below.unwrap_or_default(), names));
    }
    bounds
}

/// Reads the bounds in these files of a group and of every group above it.
#[cfg(target_os = "linux")]
fn bounds_up_from(mount: &Path, below: &Path, names: &[&str]) -> Vec<MemoryBound> {
    let files =
        below.ancestors().flat_map(|group| names.iter().map(move |name| mount.join(group).join(name)));
    let bound = |file: PathBuf| {
        // `max` means no bound.
        let bytes = fs::read_to_string(&file).ok()?.trim().parse().ok()?;
        Some(MemoryBound { bytes, of: BoundSource::ControlGroup(file) })
    };
    files.filter_map(bound).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn within(set: Option<usize>, mib: u64) -> HistoryMemory {
        HistoryMemory::within(set, Some(MemoryBound { bytes: mib * MIB, of: BoundSource::Machine }))
    }

    #[test]
    fn the_default_is_a_third_of_what_there_is_and_two_gibibytes_at_most() {
        for (there_is, expected) in
            [(20, 16), (256, 85), (512, 170), (1_024, 341), (6_144, 2_048), (24_576, 2_048)]
        {
            assert_eq!(within(None, there_is).bytes as u64 / MIB, expected, "{there_is} MiB");
        }
        assert_eq!(HistoryMemory::within(None, None).bytes as u64, DEFAULT_MAX);
    }

    #[test]
    fn a_limit_that_does_not_fit_is_reported_with_one_that_does() {
        assert_eq!(within(None, 512).lack(), None);
        assert_eq!(within(Some(7 << 20), 256).lack(), None);
        let lack = within(Some(2 << 30), 512).lack().unwrap();
        assert!(
            lack.contains("needs 3200 MiB") && lack.contains("SERVICE_MEMORY_LIMIT to 256 MiB"),
            "{lack}"
        );
        assert_eq!(HistoryMemory::within(Some(2 << 30), None).lack(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_least_of_a_group_and_those_above_it_counts() {
        let folder = tempfile::tempdir().unwrap();
        let group = folder.path().join("pod/container");
        fs::create_dir_all(&group).unwrap();
        for (path, text) in [
            ("memory.max", "max\n"),
            ("pod/memory.max", "300\n"),
            ("pod/container/memory.max", "400\n"),
            ("pod/container/memory.high", "350\n"),
        ] {
            fs::write(folder.path().join(path), text).unwrap();
        }
        let bounds =
            bounds_up_from(folder.path(), Path::new("pod/container"), &["memory.max", "memory.high"]);
        let least = bounds.into_iter().min_by_key(|bound| bound.bytes).unwrap();
        assert_eq!(
            least,
            MemoryBound { bytes: 300, of: BoundSource::ControlGroup(folder.path().join("pod/memory.max")) }
        );
    }

    #[test]
    fn this_system_says_how_much_there_is() {
        assert!(cfg!(not(target_os = "linux")) || memory_bound().is_some());
    }
}
