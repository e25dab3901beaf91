//! Describes the machine of a measurement. Values that the system does not report are left out.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value as Json, json};
use uuid::Uuid;

use super::error::BenchError;
use super::samples::Samples;

/// Synchronous writes that measure the latency of the disk.
const N_CONFIRMED: usize = 200;
/// The contents of one write.
const PAGE: [u8; 4_096] = [7; 4_096];

#[derive(Debug)]
pub(super) struct MachineInfo {
    processor: String,
    n_cores: usize,
    memory_kib: Option<u64>,
    system: String,
    /// File system of the data directory.
    file_system: Option<String>,
    /// Load average before the run.
    load_average: String,
    /// Duration of a 4 KiB write with `fdatasync`, in microseconds.
    pub(super) fdatasync: Samples,
}

impl MachineInfo {
    /// Reads the properties of the machine and writes a small file into `directory`.
    ///
    /// # Errors
    /// When the directory is not writable.
    pub(super) fn look(directory: &Path) -> Result<Self, BenchError> {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Ok(Self {
            processor: model.map_or("unknown processor", |(_, name)| name.trim()).to_owned(),
            n_cores: std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
            memory_kib: kibibytes(&memory, "MemTotal:"),
            system: format!("{} {}", std::env::consts::OS, release.trim()),
            file_system: file_system(directory),
            load_average: load.split(' ').take(3).collect::<Vec<_>>().join(" "),
            fdatasync: fdatasync(directory).map_err(BenchError::io("write to the data directory"))?,
        })
    }

    pub(super) fn line(&self) -> String {
        let memory = self.memory_kib.map_or_else(String::new, |kib| format!(", {} MiB", kib / 1_024));
        let disk = self.file_system.as_deref().unwrap_or("unknown file system");
        format!(
            "{}, {} cores{memory}, {}; data on {disk}; load before: {}",
            self.processor, self.n_cores, self.system, self.load_average
        )
    }

    pub(super) fn json(&self) -> Json {
        json!({
            "processor": self.processor,
            "cores": self.n_cores,
            "memory_kib": self.memory_kib,
            "system": self.system,
            "file_system": self.file_system,
            "load_average_before": self.load_average,
            "fdatasync": self.fdatasync.json(),
        })
    }
}

/// Raises the limit of open files, which child processes inherit, to the maximum the system grants.
pub(super) fn raise_open_files() {
    let granted = getrlimit(Resource::Nofile);
    // If this fails there are fewer connections, which the generator reports.
    setrlimit(Resource::Nofile, Rlimit { current: granted.maximum, maximum: granted.maximum }).ok();
}

pub(super) fn resident_kib(pid: u32) -> Option<u64> {
    kibibytes(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?, "VmRSS:")
}

/// CPU time used by all threads of a process so far.
pub(super) fn processor_time(pid: u32) -> Option<Duration> {
    /// The unit of `/proc` CPU times, on every Linux.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(") ")?;
    let ticks = behind_name.split(' ').skip(11).take(2).map(|field| field.parse::<u32>().ok());
    Some(TICK * ticks.sum::<Option<u32>>()?)
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// File system type of the mount with the longest path above `directory`.
fn file_system(directory: &Path) -> Option<String> {
    let directory = fs::canonicalize(directory).ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let kinds = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (mount_point, kind) = (words.next()?, words.next()?);
        directory.starts_with(mount_point).then(|| (mount_point.len(), kind.to_owned()))
    });
    kinds.max().map(|(_, kind)| kind)
}

fn fdatasync(directory: &Path) -> std::io::Result<Samples> {
    let path = directory.join(format!("tollgate-bench-{}", Uuid::now_v7()));
    let taken = File::create(&path).and_then(|mut file| {
        let write = |_| {
            let started = Instant::now();
            file.write_all(&PAGE)?;
            file.sync_data()?;
            Ok(u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX))
        };
        (0..N_CONFIRMED).map(write).collect::<std::io::Result<Vec<u32>>>()
    });
    fs::remove_file(&path).ok();
    taken.map(Samples::new)
}
