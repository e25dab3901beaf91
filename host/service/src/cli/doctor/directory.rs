//! Checks of the data directory and of the files beside the database.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use tollgate_engine::artifacts;
use tollgate_git::{CLONES, CloneDirectory, FollowedRepository, Worker};
use tollgate_history::recognise_snapshot;
use tollgate_store::{DiskSpace, Holder, holder};

use super::{DoctorReport, Unreadable, words_of};
use tollgate_telemetry::logs::ErrorChain;

/// Mode bits that grant access to users other than the owner.
const ANYONE_ELSE: u32 = 0o077;
/// Free space below which the user is warned.
const FREE_BYTES_LOW: u64 = 1 << 30;

/// Checks the process that holds the directory, its permissions and the free space.
pub(super) fn examine(data_dir: &Path, report: &mut DoctorReport) -> Result<Holder, Unreadable> {
    let shown = data_dir.display();
    let metadata = fs::metadata(data_dir).map_err(|error| format!("{shown}: {error}"))?;
    if !metadata.is_dir() {
        return Err(format!("{shown} is not a directory"));
    }
    match metadata.permissions().mode() & ANYONE_ELSE {
        0 => report.fine("directory", &format!("only the owner can access {shown}")),
        _ => report.warn("directory", &format!("other users can access {shown}; run `chmod 700` on it")),
    }
    open_files(data_dir, report)?;
    let holder = holder(data_dir).map_err(|error| ErrorChain(&error).to_string())?;
    report.fine("lock", &words_of(holder));
    match DiskSpace::at(data_dir) {
        Ok(space) => room(space, report),
        Err(error) => report.warn("space", &format!("the free space cannot be determined: {error}")),
    }
    Ok(holder)
}

/// Reports files that other users could read.
fn open_files(data_dir: &Path, report: &mut DoctorReport) -> Result<(), Unreadable> {
    let failed = |error| format!("{}: {error}", data_dir.display());
    let mut open = Vec::new();
    for entry in fs::read_dir(data_dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A file that disappears meanwhile needs no report.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() && metadata.permissions().mode() & ANYONE_ELSE != 0 {
            open.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    if open.is_empty() {
        report.fine("files", "only the owner can access them");
    } else {
        open.sort();
        report.warn("files", &format!("other users can read {}; run `chmod 600` on them", open.join(", ")));
    }
    Ok(())
}

fn room(space: DiskSpace, report: &mut DoctorReport) {
    let words = format!("{} MiB are free", space.free_bytes >> 20);
    match space.free_bytes {
        ..DiskSpace::FREE_BYTES_MIN => {
            report.wrong("space", &format!("{words}; make room before commits are refused"))
        }
        DiskSpace::FREE_BYTES_MIN..FREE_BYTES_LOW => report.warn("space", &format!("{words}; make room")),
        FREE_BYTES_LOW.. => report.fine("space", &words),
    }
    if space.is_remote {
        report.warn(
            "space",
            "it is on a network file system, where locks and confirmed writes are unreliable; use a local disk",
        );
    }
}

/// Checks files that can be rebuilt if lost.
pub(super) fn examine_beside(data_dir: &Path, report: &mut DoctorReport) {
    match recognise_snapshot(data_dir) {
        Ok(None) => report.fine("snapshot", "none: the next start reads the store"),
        Ok(Some(found)) => {
            report.fine("snapshot", &format!("of the history up to number {}", found.through));
        }
        Err(error) => report
            .warn("snapshot", &format!("{}; the next start reads the store instead", ErrorChain(&error))),
    }
    match artifacts::recognise(data_dir) {
        Ok(None) => report.fine("artifacts", "none"),
        Ok(Some(n_files)) => report.fine("artifacts", &format!("{n_files} compiled modules")),
        Err(error) => report.warn("artifacts", &format!("{error}; the next start compiles modules again")),
    }
    let clones = CloneDirectory::at(data_dir.join(CLONES), Worker::of_this_program(Duration::ZERO, false));
    match clones.remembered().and_then(|followed| Ok((followed, clones.unshared()?))) {
        Ok((None, _)) => report.fine("repository", "none is followed"),
        Ok((Some(FollowedRepository { address, branch, is_named }), unshared)) => {
            let choice = if is_named == Some(false) { ", the default branch of the repository" } else { "" };
            report.fine("repository", &format!("{address}, branch {branch}{choice}"));
            if unshared.n_files + unshared.n_commits > 0 {
                report.warn(
                    "repository",
                    &format!(
                        "{} files changed by hand and {} commits exist only here; push them",
                        unshared.n_files, unshared.n_commits
                    ),
                );
            }
        }
        Err(error) => report.warn("repository", &format!("{}; it will be cloned again", ErrorChain(&error))),
    }
}
