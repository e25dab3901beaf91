//! Bringing a version of the rule set into force: only what differs from the version before is written.

use std::collections::BTreeMap;

use sqlx::{Connection as _, Row as _, SqliteConnection, SqlitePool};

use super::{digest_of, text_of};
use crate::instruction::{ContentDigest, InstructionRecord};
use crate::planted::{self, Bug};
use crate::store::transactions::stored;
use crate::store::{ListRecord, RuleSetRecord, StoreError};

/// What is in force, and what is wanted: everything that a change needs to know before it writes.
pub(in crate::store) struct Change<'s> {
    set: &'s RuleSetRecord,
    /// The last version when this was read; 0 when there was none.
    since: i64,
    wanted: BTreeMap<i64, (InstructionRow, &'s [u8])>,
    stored: BTreeMap<i64, InstructionRow>,
    wanted_lists: BTreeMap<&'s str, (ListRow, &'s str)>,
    stored_lists: BTreeMap<String, ListRow>,
}

/// Compares a version with the one in force. For a thousand rules that takes milliseconds, in which whoever writes
/// transactions need not wait.
pub(in crate::store) async fn compare<'s>(
    readers: &SqlitePool,
    set: &'s RuleSetRecord,
) -> Result<Change<'s>, StoreError> {
    let wanted = wanted_instructions(&set.instructions).await?;
    let wanted_lists = wanted_lists(&set.lists)?;
    // In one transaction, so that all of it is of the same version.
    let mut snapshot = readers.begin().await?;
    let since = last_version(&mut snapshot).await?;
    let stored = rows_in_force(&mut snapshot).await?;
    let stored_lists = lists_in_force(&mut snapshot).await?;
    Ok(Change { set, since, wanted, stored, wanted_lists, stored_lists })
}

pub(in crate::store) async fn install(
    connection: &mut SqliteConnection,
    change: &Change<'_>,
) -> Result<(), StoreError> {
    let version = stored(change.set.version)?;
    let mut commit = connection.begin_with("BEGIN IMMEDIATE").await?;
    let last = last_version(&mut commit).await?;
    if last != change.since || last >= version {
        return Err(StoreError::Conflict { what: format!("rule set {version} is not newer than the last") });
    }
    insert_version(&mut commit, version, change.set).await?;
    install_instructions(&mut commit, version, change).await?;
    install_lists(&mut commit, version, change).await?;
    let is_kept = !planted::is(Bug::RulesNotStored);
    Ok(if is_kept { commit.commit().await } else { commit.rollback().await }?)
}

async fn last_version(connection: &mut SqliteConnection) -> Result<i64, StoreError> {
    let last: Option<i64> =
        sqlx::query_scalar("SELECT max(version) FROM rule_sets").fetch_one(connection).await?;
    Ok(last.unwrap_or(0))
}

async fn insert_version(
    connection: &mut SqliteConnection,
    version: i64,
    set: &RuleSetRecord,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO rule_sets (version, created_at, git_commit, service) VALUES (?1, ?2, ?3, ?4)")
        .bind(version)
        .bind(text_of(set.created_at))
        .bind(set.commit.as_deref())
        .bind(set.service.as_deref())
        .execute(connection)
        .await?;
    Ok(())
}

/// An instruction as its row has it; two that are equal need no writing.
#[derive(PartialEq)]
struct InstructionRow {
    name: String,
    script: Option<String>,
    source: String,
    created_at: String,
    updated_at: String,
    module_digest: ContentDigest,
    /// As the row of its membership has it.
    quarantine: Option<String>,
    /// This as well.
    terms: Option<String>,
}

impl InstructionRow {
    /// Whether it runs, or does not run, the same module on the same terms.
    fn is_same_member(&self, other: &Self) -> bool {
        (self.module_digest, &self.quarantine, &self.terms)
            == (other.module_digest, &other.quarantine, &other.terms)
    }
}

async fn wanted_instructions(
    instructions: &[InstructionRecord],
) -> Result<BTreeMap<i64, (InstructionRow, &[u8])>, StoreError> {
    let mut wanted = BTreeMap::new();
    for instruction in instructions {
        let row = (row_of(instruction)?, instruction.module.as_slice());
        if wanted.insert(instruction.id.0, row).is_some() {
            let what = format!("instruction {} is there twice", instruction.id);
            return Err(StoreError::Conflict { what });
        }
        // Digesting a thousand modules takes long enough for others to want their turn.
        tokio::task::yield_now().await;
    }
    Ok(wanted)
}

async fn install_instructions(
    connection: &mut SqliteConnection,
    version: i64,
    Change { wanted, stored, .. }: &Change<'_>,
) -> Result<(), StoreError> {
    // All that change are removed first: so two of them may swap their names.
    for (id, row) in stored {
        let new = wanted.get(id).map(|(new, _)| new);
        if new != Some(row) {
            remove(connection, version, *id).await?;
        }
        if new.is_none_or(|new| !new.is_same_member(row)) {
            end_membership(connection, version, *id).await?;
        }
    }
    for (id, (row, module)) in wanted {
        let old = stored.get(id);
        if old != Some(row) {
            insert_module(connection, &row.module_digest, module).await?;
            upsert(connection, *id, row).await?;
        }
        if old.is_none_or(|old| !old.is_same_member(row)) {
            begin_membership(connection, version, *id, row).await?;
        }
    }
    Ok(())
}

fn row_of(instruction: &InstructionRecord) -> Result<InstructionRow, StoreError> {
    Ok(InstructionRow {
        name: instruction.name.clone(),
        script: instruction.script.clone(),
        source: json_of(&instruction.source)?,
        created_at: text_of(instruction.created_at),
        updated_at: text_of(instruction.updated_at),
        module_digest: ContentDigest::of(&instruction.module),
        quarantine: instruction.quarantine.as_ref().map(json_of).transpose()?,
        terms: instruction.terms.as_ref().map(json_of).transpose()?,
    })
}

fn json_of(written: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(written).map_err(|error| StoreError::Unavailable { source: error.into() })
}

async fn rows_in_force(
    connection: &mut SqliteConnection,
) -> Result<BTreeMap<i64, InstructionRow>, StoreError> {
    let rows = sqlx::query(
        "SELECT id, name, script, source, created_at, updated_at, instructions.module_digest, quarantine, \
         terms FROM instructions JOIN rule_set_members ON instruction_id = id AND until_version IS NULL \
         WHERE removed_in IS NULL",
    )
    .fetch_all(connection)
    .await?;
    let read = |row: &sqlx::sqlite::SqliteRow| {
        let stored = InstructionRow {
            name: row.try_get(1)?,
            script: row.try_get(2)?,
            source: row.try_get(3)?,
            created_at: row.try_get(4)?,
            updated_at: row.try_get(5)?,
            module_digest: digest_of(row, 6)?,
            quarantine: row.try_get(7)?,
            terms: row.try_get(8)?,
        };
        Ok((row.try_get(0)?, stored))
    };
    rows.iter().map(read).collect()
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

async fn end_membership(connection: &mut SqliteConnection, version: i64, id: i64) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE rule_set_members SET until_version = ?1 WHERE instruction_id = ?2 AND until_version IS NULL",
    )
    .bind(version)
    .bind(id)
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
        "INSERT INTO rule_set_members (instruction_id, since_version, module_digest, quarantine, terms) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )
    .bind(id)
    .bind(version)
    .bind(row.module_digest.0.to_vec())
    .bind(row.quarantine.as_deref())
    .bind(row.terms.as_deref())
    .execute(connection)
    .await?;
    Ok(())
}

/// A list as its row has it; two that are equal need no writing.
#[derive(PartialEq)]
struct ListRow {
    digest: ContentDigest,
    source: String,
}

fn wanted_lists(lists: &[ListRecord]) -> Result<BTreeMap<&str, (ListRow, &str)>, StoreError> {
    let mut wanted = BTreeMap::new();
    for list in lists {
        let row = ListRow { digest: list.digest, source: json_of(&list.source)? };
        if wanted.insert(&*list.name, (row, &*list.entries)).is_some() {
            return Err(StoreError::Conflict { what: format!("list `{}` is there twice", list.name) });
        }
    }
    Ok(wanted)
}

async fn lists_in_force(connection: &mut SqliteConnection) -> Result<BTreeMap<String, ListRow>, StoreError> {
    let rows =
        sqlx::query("SELECT name, list_digest, source FROM rule_set_lists WHERE until_version IS NULL")
            .fetch_all(connection)
            .await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, ListRow { digest: digest_of(row, 1)?, source: row.try_get(2)? })))
        .collect()
}

async fn install_lists(
    connection: &mut SqliteConnection,
    version: i64,
    Change { wanted_lists, stored_lists, .. }: &Change<'_>,
) -> Result<(), StoreError> {
    for (name, row) in stored_lists {
        if wanted_lists.get(&**name).map(|(new, _)| new) != Some(row) {
            end_list(connection, version, name).await?;
        }
    }
    for (name, (row, entries)) in wanted_lists {
        if stored_lists.get(*name) != Some(row) {
            begin_list(connection, version, name, row, entries).await?;
        }
    }
    Ok(())
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
    entries: &str,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO lists (digest, entries) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
        .bind(row.digest.0.to_vec())
        .bind(entries)
        .execute(&mut *connection)
        .await?;
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
