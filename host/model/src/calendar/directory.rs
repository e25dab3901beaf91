//! A system directory of TZif files: one file per zone, in folders by region, among other files.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::calendar::ZoneDataError;

const ENTRIES_MAX: usize = 5_000;
/// Maximum folder depth. `America/Argentina/` has depth two.
const DEPTH_MAX: usize = 4;
/// Maximum size of a zone, in bytes; about ten times the largest zone released so far.
const ZONE_BYTES_MAX: u64 = 64 * 1024;
const MAGIC: &[u8] = b"TZif";
/// Names that are a local choice of this machine, or copies of the zones with leap seconds.
const NO_ZONES: [&str; 4] = ["localtime", "posixrules", "posix", "right"];
const RELEASE_BYTES_MAX: usize = 64;

pub(super) struct DirectoryContents {
    /// Release such as `2026f`, if the directory states it.
    pub(super) release: Option<String>,
    pub(super) zones: BTreeMap<String, Vec<u8>>,
}

/// # Errors
/// If a file or folder cannot be read, a limit is exceeded, or there is no zone.
pub(super) fn read(path: &Path) -> Result<DirectoryContents, ZoneDataError> {
    let mut zones = BTreeMap::new();
    let mut n_entries = 0;
    let mut folders = vec![(path.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(failed(&folder))? {
            let entry = entry.map_err(failed(&folder))?;
            n_entries += 1;
            if n_entries > ENTRIES_MAX {
                return Err(ZoneDataError::TooMuch { path: path.to_owned(), what: "too many files" });
            }
            let Some(name) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else {
                continue;
            };
            if !is_name(&name) {
                continue;
            }
            let at = entry.path();
            // Links between zones are common; `metadata` follows them.
            if fs::metadata(&at).map_err(failed(&at))?.is_dir() {
                if depth == DEPTH_MAX {
                    return Err(ZoneDataError::TooMuch { path: at, what: "folders nested too deeply" });
                }
                folders.push((at, format!("{name}/"), depth + 1));
            } else if let Some(bytes) = zone(&at)? {
                zones.insert(name, bytes);
            }
        }
    }
    if zones.is_empty() {
        return Err(ZoneDataError::Empty { path: path.to_owned() });
    }
    Ok(DirectoryContents { release: release(path), zones })
}

fn is_name(name: &str) -> bool {
    let is_of_zones = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-/".contains(&byte);
    name.bytes().all(is_of_zones) && !name.starts_with('+') && !NO_ZONES.contains(&name)
}

fn zone(path: &Path) -> Result<Option<Vec<u8>>, ZoneDataError> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed(path))?;
    if !file.metadata().map_err(failed(path))?.is_file() {
        return Ok(None);
    }
    file.take(ZONE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed(path))?;
    if !bytes.starts_with(MAGIC) {
        return Ok(None);
    }
    if bytes.len() as u64 > ZONE_BYTES_MAX {
        return Err(ZoneDataError::TooMuch { path: path.to_owned(), what: "a zone file is too large" });
    }
    Ok(Some(bytes))
}

/// Reads the release from the first line of `+VERSION`, `tzdata.zi` or `version`.
fn release(path: &Path) -> Option<String> {
    let first_line = |name: &str| {
        let mut head = Vec::new();
        fs::File::open(path.join(name)).ok()?.take(1024).read_to_end(&mut head).ok()?;
        let line = head.split(|byte| *byte == b'\n').next()?;
        Some(String::from_utf8(line.to_vec()).ok()?.trim().to_owned())
    };
    let named = [
        first_line("+VERSION"),
        first_line("tzdata.zi").and_then(|line| line.strip_prefix("# version ").map(str::to_owned)),
        first_line("version"),
    ];
    named.into_iter().flatten().find(|name| is_release(name))
}

fn is_release(name: &str) -> bool {
    (1..=RELEASE_BYTES_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> ZoneDataError {
    let path: PathBuf = path.to_owned();
    |source| ZoneDataError::Directory { path, source }
}
