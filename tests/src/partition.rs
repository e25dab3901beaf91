//! A file system of its own on a loop device, whose power can be cut: ext4 has a call for that, which lets nothing more through
//! to the device and does not even finish its journal.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

const BYTES: u64 = 256 * 1024 * 1024;
/// `EXT4_IOC_SHUTDOWN` with `EXT4_GOING_FLAGS_NOLOGFLUSH`, by a language that is there wherever OpenSSL is built.
const CUT: &str =
    r#"open(F, "<", $ARGV[0]) or die $!; my $how = pack("I", 2); ioctl(F, 0x8004587d, $how) or die $!"#;

/// Mounted; unmounted and removed when dropped.
#[derive(Debug)]
pub struct Partition {
    directory: TempDir,
}

impl Partition {
    /// A new one.
    ///
    /// # Errors
    /// What this machine does not allow: it takes root, loop devices and ext4.
    ///
    /// # Panics
    /// When no file can be made.
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

    /// Where it is mounted.
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

    /// From here on nothing reaches the device any more.
    ///
    /// # Errors
    /// When the file system does not know the call.
    pub fn cut_power(&self) -> Result<(), String> {
        run(Command::new("perl").args(["-e", CUT]).arg(self.path()))
    }

    /// The power is back: mounted again, from what the device holds. Nobody may have anything open there.
    ///
    /// # Panics
    /// When it cannot be mounted.
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
