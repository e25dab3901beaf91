//! A separate file system on a loop device whose power can be cut. The ext4 shutdown ioctl stops all writes to the
//! device, including the completion of the journal.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

const BYTES: u64 = 256 * 1024 * 1024;
/// `EXT4_IOC_SHUTDOWN` with `EXT4_GOING_FLAGS_NOLOGFLUSH`, called from Perl, which every OpenSSL build requires.
const CUT: &str =
    r#"open(F, "<", $ARGV[0]) or die $!; my $how = pack("I", 2); ioctl(F, 0x8004587d, $how) or die $!"#;

/// A mounted partition. Unmounted and removed when dropped.
#[derive(Debug)]
pub struct Partition {
    directory: TempDir,
}

impl Partition {
    /// Creates and mounts a partition.
    ///
    /// # Errors
    /// Returns an error if this machine does not permit it: root, loop devices and ext4 are required.
    ///
    /// # Panics
    /// Panics if no file can be created.
    pub fn make() -> Result<Self, String> {
        let directory = TempDir::new().expect("a temporary folder can be made");
        let partition = Self { directory };
        fs::create_dir(partition.path()).expect("a folder can be made");
        let image = File::create(partition.image()).expect("a file can be made");
        image.set_len(BYTES).expect("a file can have holes");
        run(Command::new("mkfs.ext4").arg("-q").arg(partition.image()))?;
        partition.mount()?;
        Ok(partition)
    }

    /// Returns the mount point.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("mounted")
    }

    fn image(&self) -> PathBuf {
        self.directory.path().join("image")
    }

    fn mount(&self) -> Result<(), String> {
        run(Command::new("mount").args(["-o", "loop"]).arg(self.image()).arg(self.path()))
    }

    /// Stops all writes to the device.
    ///
    /// # Errors
    /// Returns an error if the file system does not support the call.
    pub fn cut_power(&self) -> Result<(), String> {
        run(Command::new("perl").args(["-e", CUT]).arg(self.path()))
    }

    /// Remounts the partition from the contents of the device. No file may be open on it.
    ///
    /// # Panics
    /// Panics if it cannot be mounted.
    pub fn come_back(&self) {
        unmount(&self.path()).and_then(|()| self.mount()).expect("what was mounted can be mounted again");
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        unmount(&self.path()).ok();
    }
}

fn unmount(path: &Path) -> Result<(), String> {
    run(Command::new("umount").arg(path))
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{name}: {}", said.trim())) }
}
