//! Cache of compiled modules in the data directory.
//!
//! ```text
//!  SERVICE_DATA_DIR/artifacts/key                          32 random bytes
//!                             <fingerprint>/<digest>       MAC( fingerprint │ digest │ artifact ) │ artifact
//! ```
//!
//! A file is read whole, and exactly the bytes whose MAC was verified are used. The MAC also detects files torn by a
//! crash, so writes need no sync.

use std::fmt;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;
use tollgate_guest_abi::limits::MODULE_BYTES_MAX;
use tollgate_model::instruction::ContentDigest;

use super::compiler::artifact_bytes_max;
use super::key::{KEY_BYTES, MAC_BYTES, MacKey};
use super::private_file::{ANYONE_ELSE, replace_file};
use crate::registry::RULES_MAX;

/// Folder below the data directory.
const FOLDER: &str = "artifacts";
const KEY: &str = "key";
const FOLDER_MODE: u32 = 0o700;
const FILES_MAX: usize = RULES_MAX;
/// Upper bound of all files together, in bytes.
const BYTES_MAX: u64 = 256 << 20;
/// Upper bound of one file, in bytes.
const FILE_BYTES_MAX: u64 = (MAC_BYTES + artifact_bytes_max(MODULE_BYTES_MAX)) as u64;

/// Cached artifacts of one engine.
pub(super) struct Cache {
    folder: PathBuf,
    fingerprint: [u8; 32],
    key: MacKey,
    files_max: usize,
    bytes_max: u64,
    /// Upper bound of what the folder holds.
    held: Mutex<HeldFiles>,
    /// Whether a failed write has been logged.
    is_complained: AtomicBool,
}

#[derive(Debug, Default)]
struct HeldFiles {
    n_files: usize,
    n_bytes: u64,
}

struct CachedArtifact {
    path: PathBuf,
    name: String,
    bytes: u64,
    written: SystemTime,
}

impl Cache {
    /// Opens the cache for this engine and removes the artifacts of other engines.
    pub(super) fn open(data_dir: &Path, fingerprint: [u8; 32]) -> io::Result<Self> {
        Self::bounded(data_dir, fingerprint, FILES_MAX, BYTES_MAX)
    }

    pub(super) fn bounded(
        data_dir: &Path,
        fingerprint: [u8; 32],
        files_max: usize,
        bytes_max: u64,
    ) -> io::Result<Self> {
        let all = data_dir.join(FOLDER);
        make_folder(&all)?;
        let key = MacKey::read_or_create(&all.join(KEY))?;
        // A fingerprint is 32 bytes long, like a digest, and is written in the same way.
        let name = ContentDigest(fingerprint).to_string();
        remove_others(&all, &name);
        let folder = all.join(name);
        make_folder(&folder)?;
        let (held, is_complained) = (Mutex::default(), AtomicBool::new(false));
        let cache = Self { folder, fingerprint, key, files_max, bytes_max, held, is_complained };
        *cache.held.lock() = HeldFiles::new(&cache.kept());
        Ok(cache)
    }

    /// Returns whether there is an artifact of the module with this digest, valid or not.
    pub(super) fn holds(&self, digest: ContentDigest) -> bool {
        self.path_of(digest).exists()
    }

    /// Returns the artifact of the module with this digest if its MAC is valid.
    pub(super) fn read(&self, digest: ContentDigest) -> Option<Vec<u8>> {
        let path = self.path_of(digest);
        let mut file = match read_whole(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a cached module cannot be read; it is compiled again");
                return None;
            }
        };
        let artifact = file.split_off(MAC_BYTES.min(file.len()));
        if self.key.verifies(&file, &[&self.fingerprint, &digest.0, &artifact]) {
            return Some(artifact);
        }
        tracing::warn!(path = %path.display(), "a cached module fails its integrity check; it is compiled again");
        None
    }

    /// Stores an artifact and evicts the oldest ones beyond the limits. A failed write is logged once.
    pub(super) fn write(&self, digest: ContentDigest, artifact: &[u8]) {
        let mac = self.key.mac(&[&self.fingerprint, &digest.0, artifact]);
        let path = self.path_of(digest);
        self.make_room((mac.len() + artifact.len()) as u64);
        if let Err(error) = replace_file(&path, &[&mac, artifact])
            && !self.is_complained.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                path = %path.display(), %error,
                "compiled modules cannot be cached; each start compiles them again"
            );
        }
    }

    /// Removes the artifacts of all other modules.
    pub(super) fn retain(&self, digests: &[ContentDigest]) {
        let names: std::collections::HashSet<String> = digests.iter().map(ToString::to_string).collect();
        let mut held = self.held.lock();
        let (stay, go): (Vec<_>, Vec<_>) =
            self.kept().into_iter().partition(|kept| names.contains(&kept.name));
        go.iter().for_each(|kept| {
            fs::remove_file(&kept.path).ok();
        });
        *held = HeldFiles::new(&stay);
    }

    /// Removes the oldest files until a file of this size fits within the limits, and counts it. The folder is listed
    /// only when the limits may be exceeded.
    fn make_room(&self, n_bytes: u64) {
        let fits = |held: &HeldFiles| {
            held.n_files < self.files_max && held.n_bytes.saturating_add(n_bytes) <= self.bytes_max
        };
        let mut held = self.held.lock();
        if !fits(&held) {
            let mut kept = self.kept();
            *held = HeldFiles::new(&kept);
            kept.sort_by_key(|kept| kept.written);
            for oldest in kept {
                if fits(&held) {
                    break;
                }
                if fs::remove_file(oldest.path).is_ok() {
                    held.n_files -= 1;
                    held.n_bytes = held.n_bytes.saturating_sub(oldest.bytes);
                }
            }
        }
        held.n_files += 1;
        held.n_bytes += n_bytes;
    }

    fn kept(&self) -> Vec<CachedArtifact> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let kept = entries.filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some(CachedArtifact {
                path: entry.path(),
                name: entry.file_name().into_string().ok()?,
                bytes: metadata.len(),
                written: metadata.modified().ok()?,
            })
        });
        kept.collect()
    }

    fn path_of(&self, digest: ContentDigest) -> PathBuf {
        self.folder.join(digest.to_string())
    }
}

impl HeldFiles {
    fn new(kept: &[CachedArtifact]) -> Self {
        Self { n_files: kept.len(), n_bytes: kept.iter().map(|kept| kept.bytes).sum() }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Returns the number of compiled modules in a data directory, or `None` without a cache. Changes nothing.
///
/// # Errors
/// When the contents are not a valid cache; the next start would replace the key.
pub fn recognise(data_dir: &Path) -> io::Result<Option<usize>> {
    let all = data_dir.join(FOLDER);
    let entries = match fs::read_dir(&all) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let key = fs::symlink_metadata(all.join(KEY))?;
    let is_closed = |metadata: &fs::Metadata| metadata.permissions().mode() & ANYONE_ELSE == 0;
    if !key.is_file() || key.len() != KEY_BYTES as u64 || !is_closed(&key) {
        return Err(io::Error::other("the key is not a file of 32 bytes that only its owner can access"));
    }
    let mut n_files = 0;
    for entry in entries {
        let entry = entry?;
        if entry.metadata()?.is_dir() {
            n_files += fs::read_dir(entry.path())?.count();
        }
    }
    Ok(Some(n_files))
}

/// Reads a regular file within the size limit. Anything else is an error, so a FIFO cannot block.
fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file, or too large"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Creates a folder accessible to this user only.
fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)?;
    if fs::metadata(path)?.permissions().mode() & ANYONE_ELSE != 0 {
        fs::set_permissions(path, Permissions::from_mode(FOLDER_MODE))?;
    }
    Ok(())
}

/// Removes the folders of other fingerprints, and nothing else.
fn remove_others(all: &Path, fingerprint: &str) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_fingerprint =
            name.len() == fingerprint.len() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_fingerprint && name != fingerprint {
            tracing::info!(fingerprint = name, "modules compiled for another version are removed");
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}
