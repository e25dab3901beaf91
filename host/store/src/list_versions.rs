//! Versions of named lists: what is stored of each, and which are removed.
//!
//! ```text
//!  entries of a version ──┬─ whole ◀────────────────────────────┐
//!                         └─ as a difference to a whole version ─┘   never to another difference
//! ```
//!
//! A version is stored as a difference until the differences to one whole version are together as large as it. So a list
//! that changes in few lines costs what changes, and reading a version takes two rows.
//!
//! A version of the rule set that judged nothing needs no lists once another one is in force. A version that judged keeps
//! its lists for ever, so that its verdicts can be derived again.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, SqlitePool};
use tokio::task::spawn_blocking;
use tollgate_model::instruction::ContentDigest;

use super::rule_sets::{RuleSetChange, digest_from, text_of};
use super::text_difference::{apply, difference};
use super::transactions::stored;
use super::{CommitRecord, StoreError};

/// Time after which a version that was replaced judges nothing any more. A commit that comes later is refused.
const IN_FLIGHT_MAX: TimeDelta = TimeDelta::minutes(10);

/// The entries of the new version of a list, as a difference.
pub(super) struct ListDifference {
    /// Digest of the whole version.
    pub(super) base: ContentDigest,
    pub(super) difference: String,
}

/// Returns the new lists of a change that are smaller as differences, by digest.
pub(super) async fn differences(
    readers: &SqlitePool,
    change: &RuleSetChange<'_>,
) -> Result<BTreeMap<[u8; 32], ListDifference>, StoreError> {
    let mut found = BTreeMap::new();
    let replaced: Vec<_> = change.replaced_lists().collect();
    for (before, digest, entries) in replaced {
        if let Some(one) = difference_to(readers, before, entries).await? {
            found.insert(digest.0, one);
        }
    }
    Ok(found)
}

async fn difference_to(
    readers: &SqlitePool,
    before: ContentDigest,
    entries: &str,
) -> Result<Option<ListDifference>, StoreError> {
    // The whole version behind the last one, and the size of the differences to it.
    let row: Option<(Vec<u8>, String, i64)> = sqlx::query_as(
        "SELECT whole.digest, whole.entries, \
         (SELECT coalesce(sum(length(CAST(entries AS BLOB))), 0) FROM lists WHERE base = whole.digest) \
         FROM lists AS last JOIN lists AS whole ON whole.digest = coalesce(last.base, last.digest) \
         WHERE last.digest = ?1",
    )
    .bind(before.0.to_vec())
    .fetch_optional(readers)
    .await?;
    let Some((base, whole, n_bytes)) = row else { return Ok(None) };
    let n_whole = whole.len();
    let entries = entries.to_owned();
    let compared = spawn_blocking(move || difference(&whole, &entries)).await;
    let compared = compared.map_err(|error| StoreError::Unavailable { source: error.into() })?;
    let difference = compared.map_err(|error| StoreError::Unavailable { source: error.into() })?;
    let together = usize::try_from(n_bytes).unwrap_or(usize::MAX).saturating_add(difference.len());
    let base = digest_from(&base)?;
    Ok((together <= n_whole).then_some(ListDifference { base, difference }))
}

/// Stores the entries of a list, unless they are there.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    digest: ContentDigest,
    entries: &str,
    difference: Option<&ListDifference>,
) -> Result<(), StoreError> {
    let (base, stored) = match difference {
        Some(ListDifference { base, difference }) => (Some(base.0.to_vec()), difference.as_str()),
        None => (None, entries),
    };
    sqlx::query("INSERT INTO lists (digest, entries, base) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
        .bind(digest.0.to_vec())
        .bind(stored)
        .bind(base)
        .execute(connection)
        .await?;
    Ok(())
}

/// Returns the text of a list from two columns, the first of which has this number: the entries as they are stored, and
/// those of the whole version behind them.
pub(super) fn entries_of(row: &SqliteRow, column: usize) -> Result<String, StoreError> {
    let stored: &str = row.try_get(column)?;
    match row.try_get::<Option<&str>, _>(column + 1)? {
        None => Ok(stored.to_owned()),
        Some(whole) => apply(whole, stored)
            .ok_or_else(|| StoreError::corrupt("a version of a list is no difference to the whole one")),
    }
}

/// Returns the text of the list with this digest.
pub(super) async fn text(readers: &SqlitePool, digest: ContentDigest) -> Result<Option<String>, StoreError> {
    let row = sqlx::query(
        "SELECT lists.entries, whole.entries FROM lists LEFT JOIN lists AS whole ON whole.digest = lists.base \
         WHERE lists.digest = ?1",
    )
    .bind(digest.0.to_vec())
    .fetch_optional(readers)
    .await?;
    row.as_ref().map(|row| entries_of(row, 0)).transpose()
}

/// Returns the versions of the rule set whose verdicts a commit has.
pub(super) fn versions_of(commit: &CommitRecord<'_>) -> Vec<u64> {
    let judged = commit.transactions.iter().filter(|record| record.assessment.is_some());
    let judged = judged.map(|record| record.rule_set_version);
    let deferred = commit.deferred_verdicts.iter().map(|verdict| verdict.rule_set_version);
    let mut versions: Vec<u64> = judged.chain(deferred).collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

/// Notes within a commit that a version of the rule set judged, so that its lists are never removed.
pub(super) async fn note_judged(connection: &mut SqliteConnection, version: u64) -> Result<(), StoreError> {
    let version = stored(version)?;
    let is_without_lists: Option<bool> =
        sqlx::query_scalar("SELECT use = 'removed' FROM rule_sets WHERE version = ?1")
            .bind(version)
            .fetch_optional(&mut *connection)
            .await?
            .flatten();
    if is_without_lists == Some(true) {
        let what =
            format!("the lists of rule set version {version} were removed, because it had judged nothing");
        return Err(StoreError::Conflict { what });
    }
    let update = sqlx::query("UPDATE rule_sets SET use = 'judged' WHERE version = ?1").bind(version);
    update.execute(connection).await?;
    Ok(())
}

/// Removes lists of versions that judged nothing and were replaced some time ago. Versions of which an earlier version of
/// the service noted nothing are kept.
pub(super) async fn remove_unused(
    connection: &mut SqliteConnection,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let replaced_before = text_of(now - IN_FLIGHT_MAX);
    let unused: Vec<(String, i64, i64)> = sqlx::query_as(
        "SELECT name, since_version, until_version FROM rule_set_lists AS kept \
         JOIN rule_sets AS next ON next.version = until_version \
         WHERE next.created_at < ?1 AND NOT EXISTS (SELECT 1 FROM rule_sets \
         WHERE version >= since_version AND version < until_version AND use IS NOT 'new' AND use IS NOT 'removed') \
         LIMIT 100",
    )
    .bind(replaced_before)
    .fetch_all(&mut *connection)
    .await?;
    for (name, since, until) in &unused {
        sqlx::query("DELETE FROM rule_set_lists WHERE name = ?1 AND since_version = ?2")
            .bind(name)
            .bind(since)
            .execute(&mut *connection)
            .await?;
        sqlx::query("UPDATE rule_sets SET use = 'removed' WHERE version >= ?1 AND version < ?2")
            .bind(since)
            .bind(until)
            .execute(&mut *connection)
            .await?;
    }
    if !unused.is_empty() {
        // First the differences, then the whole versions that nothing needs any more.
        for _ in 0..2 {
            sqlx::query(
                "DELETE FROM lists WHERE digest NOT IN (SELECT list_digest FROM rule_set_lists) \
                 AND digest NOT IN (SELECT base FROM lists WHERE base IS NOT NULL)",
            )
            .execute(&mut *connection)
            .await?;
        }
    }
    Ok(())
}

/// Digest of each list and of its text, for a comparison.
pub(super) async fn altered(connection: &mut SqliteConnection) -> Result<Vec<String>, StoreError> {
    let digests: Vec<Vec<u8>> =
        sqlx::query_scalar("SELECT digest FROM lists").fetch_all(&mut *connection).await?;
    let mut faults = Vec::new();
    for named in digests {
        let row = sqlx::query(
            "SELECT lists.entries, whole.entries FROM lists \
             LEFT JOIN lists AS whole ON whole.digest = lists.base WHERE lists.digest = ?1",
        )
        .bind(&named)
        .fetch_one(&mut *connection)
        .await?;
        match entries_of(&row, 0) {
            Ok(text) if ContentDigest::of_bytes(text.as_bytes()).0[..] == named[..] => {}
            Ok(text) => faults.push(format!(
                "one does not match its digest; its content now has {}",
                ContentDigest::of_bytes(text.as_bytes())
            )),
            Err(StoreError::Corrupt { what, .. }) => faults.push(what),
            Err(error) => return Err(error),
        }
    }
    Ok(faults)
}
