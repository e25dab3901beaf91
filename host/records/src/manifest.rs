//! The manifest: which segments are complete on the disk, and what the caller's log adds to them.

use std::io;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::buffer::AlignedBuffer;
use crate::error::OpenRecordsError;
use crate::folder::{FolderFile, RecordFolder};

/// Name of the file that makes a folder one of records; without it, nothing is left to open.
pub const MANIFEST_FILE: &str = "manifest";
const NEW_MANIFEST_FILE: &str = "manifest.new";
/// Version of all files of the folder.
const VERSION: u32 = 1;
/// Maximum size of a manifest, in bytes; one of 8,192 segments has half a million.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// What the records are derived from. Records of another origin are not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordOrigin {
    /// Identity of the caller's log.
    pub log: String,
    /// Identity of what the caller derives from it.
    pub contents: String,
}

/// A checkpoint, as a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordsManifest {
    pub(crate) version: u32,
    pub(crate) origin: RecordOrigin,
    /// Rises with each checkpoint.
    pub(crate) n_checkpoints: u64,
    /// Everything in the caller's log up to this number is contained in the segments.
    pub(crate) through: u64,
    /// What else the caller needs at the next start.
    pub(crate) state: String,
    pub(crate) n_tables: usize,
    /// In the order of their numbers; the last one was open.
    pub(crate) segments: Vec<ManifestSegment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ManifestSegment {
    pub(crate) id: u64,
    /// Bytes that are on the disk; those of a complete segment include its foot.
    pub(crate) n_bytes: usize,
    /// Sizes of all its records, as the index counts them, in bytes.
    pub(crate) n_record_bytes: usize,
}

impl RecordOrigin {
    /// Returns a hash for the heads of segments.
    pub(crate) fn digest(&self) -> u64 {
        xxh3_64(format!("{}\0{}", self.log, self.contents).as_bytes())
    }
}

impl RecordsManifest {
    pub(crate) fn new(
        origin: RecordOrigin,
        n_checkpoints: u64,
        (through, state): (u64, String),
        n_tables: usize,
        segments: Vec<ManifestSegment>,
    ) -> Self {
        Self { version: VERSION, origin, n_checkpoints, through, state, n_tables, segments }
    }

    /// Writes it in place of the former one. After an error the former one holds.
    pub(crate) fn write(&self, folder: &dyn RecordFolder) -> io::Result<()> {
        let json = serde_json::to_vec(self)?;
        let file = folder.create(NEW_MANIFEST_FILE)?;
        let mut bytes = format!("{:016x}\n", xxh3_64(&json)).into_bytes();
        bytes.extend_from_slice(&json);
        file.write_at(&bytes, 0)?;
        file.sync()?;
        folder.rename(NEW_MANIFEST_FILE, MANIFEST_FILE)?;
        folder.sync()
    }

    /// Reads the manifest of a folder.
    pub(crate) fn read(folder: &dyn RecordFolder) -> Result<Self, OpenRecordsError> {
        let failed = |source| OpenRecordsError::Io { file: MANIFEST_FILE.into(), source };
        let bad = |reason: &str| OpenRecordsError::BadManifest { reason: reason.into() };
        let file = match folder.open(MANIFEST_FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(OpenRecordsError::NoManifest);
            }
            opened => opened.map_err(failed)?,
        };
        let text = all_bytes(&*file, MANIFEST_BYTES_MAX).map_err(failed)?;
        let (checksum, json) = text.split_at_checked(17).ok_or_else(|| bad("it is too short"))?;
        if checksum != format!("{:016x}\n", xxh3_64(json)).as_bytes() {
            return Err(bad("its checksum is wrong"));
        }
        let manifest: Self = serde_json::from_slice(json).map_err(|error| bad(&error.to_string()))?;
        if manifest.version != VERSION {
            return Err(bad("it is of another version"));
        }
        Ok(manifest)
    }
}

/// Returns all bytes of a file that has at most `n_bytes_max`.
pub(crate) fn all_bytes(file: &dyn FolderFile, n_bytes_max: u64) -> io::Result<Vec<u8>> {
    let n_bytes = file.n_bytes()?;
    let n_bytes = usize::try_from(n_bytes).ok().filter(|_| n_bytes <= n_bytes_max);
    let n_bytes = n_bytes.ok_or_else(|| io::Error::other("the file is too long"))?;
    let mut buffer = AlignedBuffer::new(n_bytes);
    let n_read = file.read_at(&mut buffer, 0)?;
    if n_read < n_bytes {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(buffer.bytes().get(..n_bytes).unwrap_or_default().to_vec())
}
