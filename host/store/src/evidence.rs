//! SQL for the data that verdicts were derived from, for deriving them again.
//!
//! Rows of the log, modules and list entries never change, and a rule set version is complete before it judges. Reading
//! up to a given number therefore always returns the same data, even while a service adds to it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};
use tollgate_model::instruction::{ContentDigest, InstructionId};
use tollgate_model::sequence::Sequence;

use super::deferred_verdicts::verdict_of;
use super::directory::DataDirectory;
use super::examination::UnlockedRead;
use super::known_ids::KnownIds;
use super::rule_sets::{
    any_version_held, digest_from, digest_of, holds_of, quarantine_of, semantics_of, terms_of,
};
use super::transactions::{read, record_of};
use super::writer::Writer;
use super::{
    DeferredVerdictRecord, LogEntry, MemberRecord, RuleSetParts, Store, StoreError, StoreInner, connection,
    identity, list_versions, status_updates,
};

impl Store {
    /// Returns whether a version ever had a rule or list from this kind of source, such as `file`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn any_version_held(&self, kind: &str) -> Result<bool, StoreError> {
        any_version_held(&self.inner.readers, kind).await
    }

    /// Opens the store of a directory read-only, whether or not a service has it open. Takes no lock; every write
    /// fails.
    ///
    /// # Errors
    /// When there is no database, or it is damaged or belongs to another program or another version of this service.
    pub async fn open_to_read(place: &Path) -> Result<Store, StoreError> {
        let directory = DataDirectory::visit(place)?;
        let database = directory.database();
        identity::check(&database)?;
        let (options, unlocked) = connection::reading(place)?;
        let readers = connection::readers(options).await?;
        connection::check_schema(&readers, &database).await?;
        let writer = Writer::closed(connection::writing(&database));
        // A service may add ids while the store is open, so the filter stays empty and every id is looked up.
        let known_ids = Arc::new(KnownIds::none());
        Ok(Store {
            inner: Arc::new(StoreInner {
                writer,
                readers,
                known_ids,
                tasks: Vec::new(),
                marks: None,
                unlocked,
                last_installed: Mutex::default(),
                judged: Mutex::default(),
                directory,
            }),
        })
    }

    /// Checks whether everything read since [`Store::open_to_read`] is valid.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another process wrote during an unlocked read.
    pub fn confirm_read(&self) -> Result<(), StoreError> {
        self.inner.unlocked.as_ref().map_or(Ok(()), UnlockedRead::confirm)
    }

    /// Returns all entries after one number, through another, in sequence order. The caller must bound the range.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn log(&self, after: Sequence, through: Sequence) -> Result<Vec<LogEntry>, StoreError> {
        log(&self.inner.readers, after, through).await
    }

    /// Returns the rule set versions that judged anything after one number, through another.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn versions_judged_by(
        &self,
        after: Sequence,
        through: Sequence,
    ) -> Result<BTreeSet<u64>, StoreError> {
        versions_judged_by(&self.inner.readers, after, through).await
    }

    /// Returns the sequence number of the verdict on a transaction. Returns `None` if there is no such transaction, and
    /// `Some(None)` if it has no verdict.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn position_of_verdict(
        &self,
        transaction_id: &str,
    ) -> Result<Option<Option<Sequence>>, StoreError> {
        let row: Option<(i64, bool, Option<i64>)> = sqlx::query_as(
            "SELECT t.sequence, t.assessment <> '', late.sequence FROM transactions t \
             LEFT JOIN late_verdicts late ON late.target = t.sequence WHERE t.transaction_id = ?1",
        )
        .bind(transaction_id)
        .fetch_optional(&self.inner.readers)
        .await?;
        let Some((own, is_judged, late)) = row else { return Ok(None) };
        let place = if is_judged { Some(own) } else { late };
        Ok(Some(place.map(|place| Ok::<_, StoreError>(Sequence(read(place)?))).transpose()?))
    }

    /// Returns the parts of a rule set version, or `None` if it never existed.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn rule_set_parts(&self, version: u64) -> Result<Option<RuleSetParts>, StoreError> {
        parts(&self.inner.readers, version).await
    }

    /// Returns the bytes of the module with this digest, without verifying the digest.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn module(&self, digest: ContentDigest) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes = sqlx::query_scalar("SELECT bytes FROM modules WHERE digest = ?1").bind(digest.0.to_vec());
        Ok(bytes.fetch_optional(&self.inner.readers).await?)
    }

    /// Returns the release and the archive of the zone data with this digest, without verifying the digest.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn zone_data(&self, digest: ContentDigest) -> Result<Option<(String, Vec<u8>)>, StoreError> {
        let data = sqlx::query_as("SELECT name, bytes FROM zone_data WHERE digest = ?1");
        Ok(data.bind(digest.0.to_vec()).fetch_optional(&self.inner.readers).await?)
    }

    /// Returns the table of status words with this digest, without verifying the digest.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn status_words(&self, digest: ContentDigest) -> Result<Option<String>, StoreError> {
        let text =
            sqlx::query_scalar("SELECT text FROM status_words WHERE digest = ?1").bind(digest.0.to_vec());
        Ok(text.fetch_optional(&self.inner.readers).await?)
    }

    /// Returns the text of the list with this digest, without verifying the digest.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn list_entries(&self, digest: ContentDigest) -> Result<Option<String>, StoreError> {
        list_versions::text(&self.inner.readers, digest).await
    }
}

async fn log(readers: &SqlitePool, after: Sequence, through: Sequence) -> Result<Vec<LogEntry>, StoreError> {
    let (first, last) = (signed(after), signed(through));
    let rows = sqlx::query(
        "SELECT sequence, transaction_id, fingerprint, event_micros, accepted_micros, rule_set_version, body, \
         assessment, is_reported FROM transactions WHERE sequence > ?1 AND sequence <= ?2 ORDER BY sequence",
    )
    .bind(first)
    .bind(last)
    .fetch_all(readers)
    .await?;
    let mut log = rows
        .iter()
        .map(|row| Ok(LogEntry::Accepted(record_of(row)?)))
        .collect::<Result<Vec<_>, StoreError>>()?;
    let updates = status_updates::between(readers, after, through).await?;
    log.extend(updates.into_iter().map(|(update, body)| LogEntry::Updated(update, body)));
    let rows = sqlx::query(
        "SELECT sequence, target, rule_set_version, fingerprint, body, assessment FROM late_verdicts \
         WHERE sequence > ?1 AND sequence <= ?2 ORDER BY sequence",
    )
    .bind(first)
    .bind(last)
    .fetch_all(readers)
    .await?;
    for row in &rows {
        log.push(LogEntry::JudgedDeferred(deferred_of(row)?));
    }
    log.sort_by_key(LogEntry::sequence);
    Ok(log)
}

fn deferred_of(row: &SqliteRow) -> Result<DeferredVerdictRecord, StoreError> {
    Ok(DeferredVerdictRecord {
        sequence: Sequence(read(row.try_get(0)?)?),
        target: Sequence(read(row.try_get(1)?)?),
        rule_set_version: read(row.try_get(2)?)?,
        verdict: verdict_of(row, 3)?.ok_or_else(|| StoreError::corrupt("a late verdict lacks a value"))?,
    })
}

async fn versions_judged_by(
    readers: &SqlitePool,
    after: Sequence,
    through: Sequence,
) -> Result<BTreeSet<u64>, StoreError> {
    let versions: Vec<i64> = sqlx::query_scalar(
        "SELECT DISTINCT rule_set_version FROM transactions \
         WHERE sequence > ?1 AND sequence <= ?2 AND assessment <> '' \
         UNION SELECT rule_set_version FROM late_verdicts WHERE sequence > ?1 AND sequence <= ?2",
    )
    .bind(signed(after))
    .bind(signed(through))
    .fetch_all(readers)
    .await?;
    versions.into_iter().map(read).collect()
}

/// The columns of a version: service, semantics, digests of the time zone data and of the status words, holds.
type VersionRow = (Option<String>, i64, Option<Vec<u8>>, Option<Vec<u8>>, Option<String>);

async fn parts(readers: &SqlitePool, version: u64) -> Result<Option<RuleSetParts>, StoreError> {
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    let known: Option<VersionRow> = sqlx::query_as(
        "SELECT service, semantics, zone_data, status_words, holds FROM rule_sets WHERE version = ?1",
    )
    .bind(version)
    .fetch_optional(readers)
    .await?;
    let Some((service, semantics, zones, words, holds)) = known else { return Ok(None) };
    let members = sqlx::query(
        "SELECT id, name, script IS NOT NULL, rule_set_members.module_digest, quarantine, terms \
         FROM rule_set_members          JOIN instructions ON id = instruction_id \
         WHERE since_version <= ?1 AND (until_version IS NULL OR until_version > ?1) ORDER BY id",
    )
    .bind(version)
    .fetch_all(readers)
    .await?;
    let lists = sqlx::query(
        "SELECT name, list_digest FROM rule_set_lists \
         WHERE since_version <= ?1 AND (until_version IS NULL OR until_version > ?1) ORDER BY name",
    )
    .bind(version)
    .fetch_all(readers)
    .await?;
    Ok(Some(RuleSetParts {
        members: members.iter().map(member_of).collect::<Result<_, _>>()?,
        lists: lists
            .iter()
            .map(|row| Ok((row.try_get(0)?, digest_of(row, 1)?)))
            .collect::<Result<_, StoreError>>()?,
        service: service.map(Into::into),
        semantics: semantics_of(semantics)?,
        zones: zones.as_deref().map(digest_from).transpose()?,
        status_words: words.as_deref().map(digest_from).transpose()?,
        holds: holds_of(holds.as_deref())?,
    }))
}

fn member_of(row: &SqliteRow) -> Result<MemberRecord, StoreError> {
    let terms = row.try_get::<Option<&str>, _>(5)?.map(terms_of).transpose()?;
    Ok(MemberRecord {
        id: InstructionId(row.try_get(0)?),
        name: row.try_get(1)?,
        is_script: row.try_get(2)?,
        digest: digest_of(row, 3)?,
        quarantine: row.try_get::<Option<&str>, _>(4)?.map(quarantine_of).transpose()?,
        origin: terms.as_ref().map(|terms| terms.origin),
        owner: terms.and_then(|terms| terms.owner),
    })
}

fn signed(sequence: Sequence) -> i64 {
    i64::try_from(sequence.0).unwrap_or(i64::MAX)
}
