//! The difference between a new version of the rule set and the one in force.
//!
//! Most changes affect one rule of many. The new version is compared with the last one that this process stored,
//! without reading the file. The first change of a process is compared with the stored rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sqlx::{Row as _, SqliteConnection, SqlitePool};
use tollgate_model::instruction::{ContentDigest, InstructionRecord};

use super::{MemberTerms, digest_of, text_of};
use crate::transactions::stored;
use crate::{ListRecord, RuleSetRecord, StoreError};

/// The rows that may differ between the two versions; complete before the first write.
pub(crate) struct RuleSetChange<'s> {
    pub(super) set: &'s RuleSetRecord,
    /// The version in force; 0 if there is none.
    pub(super) since: i64,
    pub(super) wanted: BTreeMap<i64, (InstructionRow, &'s [u8])>,
    pub(super) stored: BTreeMap<i64, InstructionRow>,
    pub(super) wanted_lists: BTreeMap<&'s str, (ListRow, &'s str)>,
    pub(super) stored_lists: BTreeMap<String, ListRow>,
}

impl<'s> RuleSetChange<'s> {
    /// Compares with the version that this process stored last.
    pub(crate) async fn since(last: &RuleSetRecord, set: &'s RuleSetRecord) -> Result<Self, StoreError> {
        let mut before: BTreeMap<_, _> = last.instructions.iter().map(|one| (one.id, one)).collect();
        let (mut ids, mut changed, mut stored_rows) = (BTreeSet::new(), Vec::new(), BTreeMap::new());
        for instruction in &set.instructions {
            if !ids.insert(instruction.id) {
                return Err(there_twice(instruction));
            }
            if before.get(&instruction.id).is_some_and(|old| is_same(old, instruction)) {
                before.remove(&instruction.id);
            } else {
                changed.push(Arc::as_ref(instruction));
            }
        }
        let wanted = wanted_instructions(changed).await?;
        for old in before.into_values() {
            stored_rows.insert(old.id.0, row_of(old)?);
            tokio::task::yield_now().await;
        }
        let stored_lists = last.lists.iter().map(|list| Ok((list.name.clone(), ListRow::of(list)?)));
        Ok(Self {
            set,
            since: stored(last.version)?,
            wanted,
            stored: stored_rows,
            wanted_lists: wanted_lists(&set.lists)?,
            stored_lists: stored_lists.collect::<Result<_, StoreError>>()?,
        })
    }

    /// Returns the lists whose entries change: the digest of the entries before, and digest and text of the new ones.
    pub(crate) fn replaced_lists(&self) -> impl Iterator<Item = (ContentDigest, ContentDigest, &str)> {
        self.wanted_lists.iter().filter_map(|(name, (row, entries))| {
            let before = self.stored_lists.get(*name)?.digest;
            (before != row.digest).then_some((before, row.digest, *entries))
        })
    }

    /// Compares with the stored rows. This takes milliseconds for a thousand rules, and does not block the writer.
    pub(crate) async fn since_the_file(
        readers: &SqlitePool,
        set: &'s RuleSetRecord,
    ) -> Result<Self, StoreError> {
        let wanted = wanted_instructions(set.instructions.iter().map(Arc::as_ref)).await?;
        let wanted_lists = wanted_lists(&set.lists)?;
        // In one transaction, so that all queries see the same version.
        let mut snapshot = readers.begin().await?;
        let since = last_version(&mut snapshot).await?;
        let stored = rows_in_force(&mut snapshot).await?;
        let stored_lists = lists_in_force(&mut snapshot).await?;
        Ok(Self { set, since, wanted, stored, wanted_lists, stored_lists })
    }
}

/// Compares two records; most are the same allocation.
fn is_same(left: &Arc<InstructionRecord>, right: &Arc<InstructionRecord>) -> bool {
    Arc::ptr_eq(left, right) || left == right
}

pub(super) async fn last_version(connection: &mut SqliteConnection) -> Result<i64, StoreError> {
    let last: Option<i64> =
        sqlx::query_scalar("SELECT max(version) FROM rule_sets").fetch_one(connection).await?;
    Ok(last.unwrap_or(0))
}

/// The row of an instruction; equal rows are not written again.
#[derive(PartialEq)]
pub(super) struct InstructionRow {
    pub(super) name: String,
    pub(super) script: Option<String>,
    pub(super) source: String,
    pub(super) created_at: String,
    pub(super) updated_at: String,
    pub(super) module_digest: ContentDigest,
    /// Digest of the script, if there is one; stored in the row of its membership.
    pub(super) script_digest: Option<ContentDigest>,
    /// Stored in the row of its membership.
    pub(super) quarantine: Option<String>,
    /// Stored in the row of its membership.
    pub(super) terms: Option<String>,
}

impl InstructionRow {
    /// Returns whether module, script, quarantine and terms are equal.
    pub(super) fn is_same_member(&self, other: &Self) -> bool {
        (self.module_digest, self.script_digest, &self.quarantine, &self.terms)
            == (other.module_digest, other.script_digest, &other.quarantine, &other.terms)
    }
}

async fn wanted_instructions<'s>(
    instructions: impl IntoIterator<Item = &'s InstructionRecord>,
) -> Result<BTreeMap<i64, (InstructionRow, &'s [u8])>, StoreError> {
    let mut wanted = BTreeMap::new();
    for instruction in instructions {
        let row = (row_of(instruction)?, instruction.module.as_slice());
        if wanted.insert(instruction.id.0, row).is_some() {
            return Err(there_twice(instruction));
        }
        // Digesting a thousand modules takes long enough that other tasks should run in between.
        tokio::task::yield_now().await;
    }
    Ok(wanted)
}

fn there_twice(instruction: &InstructionRecord) -> StoreError {
    StoreError::Conflict { what: format!("instruction {} occurs twice", instruction.id) }
}

fn row_of(instruction: &InstructionRecord) -> Result<InstructionRow, StoreError> {
    Ok(InstructionRow {
        name: instruction.name.clone(),
        script: instruction.script.clone(),
        source: json_of(&instruction.source)?,
        created_at: text_of(instruction.created_at),
        updated_at: text_of(instruction.updated_at),
        module_digest: ContentDigest::of_bytes(&instruction.module),
        script_digest: digest_of_script(instruction.script.as_deref()),
        quarantine: instruction.quarantine.as_ref().map(json_of).transpose()?,
        terms: MemberTerms::of(instruction).as_ref().map(json_of).transpose()?,
    })
}

fn digest_of_script(script: Option<&str>) -> Option<ContentDigest> {
    script.map(|text| ContentDigest::of_bytes(text.as_bytes()))
}

pub(super) fn json_of(written: &impl serde::Serialize) -> Result<String, StoreError> {
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
        let script: Option<String> = row.try_get(2)?;
        let stored = InstructionRow {
            name: row.try_get(1)?,
            // Not the stored digest, which earlier versions of the service did not write.
            script_digest: digest_of_script(script.as_deref()),
            script,
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

/// The row of a list; equal rows are not written again.
#[derive(PartialEq)]
pub(super) struct ListRow {
    pub(super) digest: ContentDigest,
    pub(super) source: String,
}

impl ListRow {
    fn of(list: &ListRecord) -> Result<Self, StoreError> {
        Ok(Self { digest: list.digest, source: json_of(&list.source)? })
    }
}

fn wanted_lists(lists: &[ListRecord]) -> Result<BTreeMap<&str, (ListRow, &str)>, StoreError> {
    let mut wanted = BTreeMap::new();
    for list in lists {
        if wanted.insert(&*list.name, (ListRow::of(list)?, &*list.entries)).is_some() {
            return Err(StoreError::Conflict { what: format!("list `{}` occurs twice", list.name) });
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
