//! A rules directory in the layout the kubelet uses for a `ConfigMap` or a `Secret`. Every file is behind two links,
//! one of which is swapped.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::repository;

/// A volume, and the folder from which it is filled.
#[derive(Debug)]
pub struct Volume {
    volume: PathBuf,
    source: PathBuf,
}

impl Volume {
    /// Creates a volume with these files: path and text.
    ///
    /// # Panics
    /// Panics if they cannot be written.
    #[must_use]
    pub fn at<P: AsRef<str>, T: AsRef<str>>(volume: &Path, source: &Path, files: &[(P, T)]) -> Self {
        let laid_out = Self { volume: volume.to_owned(), source: source.to_owned() };
        laid_out.swap(files);
        laid_out
    }

    /// Replaces all files atomically, as the kubelet does.
    ///
    /// # Panics
    /// Panics if they cannot be written.
    pub fn swap<P: AsRef<str>, T: AsRef<str>>(&self, files: &[(P, T)]) {
        let _ = fs::remove_dir_all(&self.source);
        fs::create_dir_all(&self.source).expect("a folder can be made");
        for (path, text) in files {
            let path = self.source.join(path.as_ref());
            fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
            fs::write(path, text.as_ref()).expect("a file can be written");
        }
        let script = repository::root().join("deploy/configmap-volume");
        let status = Command::new("sh").arg(script).args([&self.source, &self.volume]).status();
        assert!(status.expect("a shell can be run").success(), "the volume is not laid out");
    }
}
