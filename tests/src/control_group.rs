//! Control groups that limit the memory of the processes in them.

use std::fs;
use std::path::{Path, PathBuf};

/// A control group with a memory limit, which counts the page cache; removed when dropped.
#[derive(Debug)]
pub struct ControlGroup {
    path: PathBuf,
    is_v1: bool,
}

impl ControlGroup {
    /// Creates a group of so many MiB; `None` if this machine does not permit it.
    #[must_use]
    pub fn new(mib: u64) -> Option<Self> {
        let v1 = Path::new("/sys/fs/cgroup/memory");
        let (root, is_v1) = if v1.exists() { (v1, true) } else { (Path::new("/sys/fs/cgroup"), false) };
        let path = root.join(format!("tollgate-{}-{mib}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Self { path, is_v1 };
        let limit = if is_v1 { "memory.limit_in_bytes" } else { "memory.max" };
        fs::write(group.path.join(limit), (mib << 20).to_string()).ok()?;
        Some(group)
    }

    /// Returns the file to which a process writes its id to enter the group.
    #[must_use]
    pub fn processes(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// Returns the memory in use, in MiB; 0 if the system does not tell.
    #[must_use]
    pub fn used_mib(&self) -> u64 {
        let file = if self.is_v1 { "memory.usage_in_bytes" } else { "memory.current" };
        let text = fs::read_to_string(self.path.join(file)).unwrap_or_default();
        text.trim().parse::<u64>().unwrap_or(0) >> 20
    }

    /// Returns how many processes were killed for want of memory.
    ///
    /// # Panics
    /// Panics if the system does not tell.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]
    pub fn n_killed(&self) -> u64 {
        let file = if self.is_v1 { "memory.oom_control" } else { "memory.events" };
        let text = fs::read_to_string(self.path.join(file)).expect("the group can be read");
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.and_then(|number| number.trim().parse().ok()).expect("kills are counted")
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}
