//! Stores a new version of the rule set; writes only the differences from the last one.

use std::collections::BTreeMap;

use sqlx::{Connection as _, SqliteConnection};
use tollgate_model::hold::Holds;
use tollgate_model::instruction::ContentDigest;

use super::change::{InstructionRow, ListRow, RuleSetChange, json_of, last_version};
use super::text_of;
use crate::list_versions::{self, ListDifference};
use crate::transactions::stored;
use crate::{RuleSetRecord, StoreError, ZoneDataRecord};

pub(crate) async fn install(
    connection: &mut SqliteConnection,
    change: &RuleSetChange<'_>,
    differences: &BTreeMap<[u8; 32], ListDifference>,
) -> Result<(), StoreError> {
    let version = stored(change.set.version)?;
    let mut commit = connection.begin_with("BEGIN IMMEDIATE").await?;
    let last = last_version(&mut commit).await?;
    if last != change.since || last >= version {
        return Err(StoreError::Conflict { what: format!("rule set {version} is not newer than the last") });
    }
    insert_version(&mut commit, version, change.set).await?;
    install_instructions(&mut commit, version, change).await?;
    if install_lists(&mut commit, version, change, differences).await? {
        list_versions::remove_unused(&mut commit, change.set.created_at).await?;
    }
    Ok(commit.commit().await?)
}

async fn insert_version(
    connection: &mut SqliteConnection,
    version: i64,
    set: &RuleSetRecord,
) -> Result<(), StoreError> {
    if let Some(zones) = &set.zones {
        insert_zone_data(connection, zones).await?;
    }
    if let Some(words) = &set.status_words {
        sqlx::query("INSERT OR IGNORE INTO status_words (digest, text) VALUES (?1, ?2)")
            .bind(words.digest.0.to_vec())
            .bind(&words.text)
            .execute(&mut *connection)
            .await?;
    }
    let holds = if set.holds == Holds::default() { None } else { Some(json_of(&set.holds)?) };
    sqlx::query(
        "INSERT INTO rule_sets (version, created_at, git_commit, service, semantics, zone_data, status_words, holds, use) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'new')",
    )
    .bind(version)
    .bind(text_of(set.created_at))
    .bind(set.commit.as_deref())
    .bind(set.service.as_deref())
    .bind(i64::from(set.semantics.number()))
    .bind(set.zones.as_ref().map(|zones| zones.digest.0.to_vec()))
    .bind(set.status_words.as_ref().map(|words| words.digest.0.to_vec()))
    .bind(holds)
    .execute(connection)
    .await?;
    Ok(())
}

async fn insert_zone_data(
    connection: &mut SqliteConnection,
    zones: &ZoneDataRecord,
) -> Result<(), StoreError> {
    let digest = zones.digest.0.to_vec();
    // The data is large and rarely new, so it is bound only when it must be written.
    let is_stored: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM zone_data WHERE digest = ?1)")
        .bind(&digest)
        .fetch_one(&mut *connection)
        .await?;
    if !is_stored {
        sqlx::query("INSERT INTO zone_data (digest, name, bytes) VALUES (?1, ?2, ?3)")
            .bind(digest)
            .bind(&*zones.name)
            .bind(&*zones.archive)
            .execute(connection)
            .await?;
    }
    Ok(())
}

async fn install_instructions(
    connection: &mut SqliteConnection,
    version: i64,
    RuleSetChange { wanted, stored, .. }: &RuleSetChange<'_>,
) -> Result<(), StoreError> {
    // All changed rows are removed first, so that two instructions may swap names.
    for (id, row) in stored {
        let new = wanted.get(id).map(|(new, _)| new);
        if new != Some(row) {
            remove(connection, version, *id).await?;
        }
        if new.is_none_or(|new| !new.is_same_member(row)) {
            insert_script(connection, row).await?;
            end_membership(connection, version, *id, row).await?;
        }
    }
    for (id, (row, module)) in wanted {
        let old = stored.get(id);
        if old != Some(row) {
            insert_module(connection, &row.module_digest, module).await?;
            insert_script(connection, row).await?;
            upsert(connection, *id, row).await?;
        }
        if old.is_none_or(|old| !old.is_same_member(row)) {
            begin_membership(connection, version, *id, row).await?;
        }
    }
    Ok(())
}

async fn remove(connection: &mut SqliteConnection, version: i64, id: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE instructions SET removed_in = ?1 WHERE id = ?2")
        .bind(version)
        .bind(id)
        .execute(connection)
        .await?;
    Ok(())
}

async fn insert_module(
    connection: &mut SqliteConnection,
    digest: &ContentDigest,
    module: &[u8],
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO modules (digest, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
        .bind(digest.0.to_vec())
        .bind(module)
        .execute(connection)
        .await?;
    Ok(())
}

async fn insert_script(
    connection: &mut SqliteConnection,
    InstructionRow { script, script_digest, .. }: &InstructionRow,
) -> Result<(), StoreError> {
    let (Some(text), Some(digest)) = (script, script_digest) else { return Ok(()) };
    sqlx::query("INSERT INTO scripts (digest, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
        .bind(digest.0.to_vec())
        .bind(text)
        .execute(connection)
        .await?;
    Ok(())
}

async fn upsert(connection: &mut SqliteConnection, id: i64, row: &InstructionRow) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO instructions (id, name, script, source, created_at, updated_at, module_digest) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
         ON CONFLICT (id) DO UPDATE SET name = ?2, script = ?3, source = ?4, created_at = ?5, updated_at = ?6, \
         module_digest = ?7, removed_in = NULL",
    )
    .bind(id)
    .bind(&*row.name)
    .bind(row.script.as_deref())
    .bind(&*row.source)
    .bind(&*row.created_at)
    .bind(&*row.updated_at)
    .bind(row.module_digest.0.to_vec())
    .execute(connection)
    .await?;
    Ok(())
}

/// Also notes the script of a member that an earlier version of the service stored.
async fn end_membership(
    connection: &mut SqliteConnection,
    version: i64,
    id: i64,
    row: &InstructionRow,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE rule_set_members SET until_version = ?1, script_digest = ?3 \
         WHERE instruction_id = ?2 AND until_version IS NULL",
    )
    .bind(version)
    .bind(id)
    .bind(row.script_digest.map(|digest| digest.0.to_vec()))
    .execute(connection)
    .await?;
    Ok(())
}

async fn begin_membership(
    connection: &mut SqliteConnection,
    version: i64,
    id: i64,
    row: &InstructionRow,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO rule_set_members \
         (instruction_id, since_version, module_digest, quarantine, terms, script_digest) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )
    .bind(id)
    .bind(version)
    .bind(row.module_digest.0.to_vec())
    .bind(row.quarantine.as_deref())
    .bind(row.terms.as_deref())
    .bind(row.script_digest.map(|digest| digest.0.to_vec()))
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns whether a list changed.
async fn install_lists(
    connection: &mut SqliteConnection,
    version: i64,
    RuleSetChange { wanted_lists, stored_lists, .. }: &RuleSetChange<'_>,
    differences: &BTreeMap<[u8; 32], ListDifference>,
) -> Result<bool, StoreError> {
    let mut has_changed = false;
    for (name, row) in stored_lists {
        if wanted_lists.get(&**name).map(|(new, _)| new) != Some(row) {
            end_list(connection, version, name).await?;
            has_changed = true;
        }
    }
    for (name, (row, entries)) in wanted_lists {
        if stored_lists.get(*name) != Some(row) {
            list_versions::insert(connection, row.digest, entries, differences.get(&row.digest.0)).await?;
            begin_list(connection, version, name, row).await?;
            has_changed = true;
        }
    }
    Ok(has_changed)
}

async fn end_list(connection: &mut SqliteConnection, version: i64, name: &str) -> Result<(), StoreError> {
    sqlx::query("UPDATE rule_set_lists SET until_version = ?1 WHERE name = ?2 AND until_version IS NULL")
        .bind(version)
        .bind(name)
        .execute(connection)
        .await?;
    Ok(())
}

async fn begin_list(
    connection: &mut SqliteConnection,
    version: i64,
    name: &str,
    row: &ListRow,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO rule_set_lists (name, since_version, list_digest, source) VALUES (?1, ?2, ?3, ?4)",
    )
    .bind(name)
    .bind(version)
    .bind(row.digest.0.to_vec())
    .bind(&*row.source)
    .execute(connection)
    .await?;
    Ok(())
}
