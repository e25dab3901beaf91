//! SQL for the versions of the rule set, current and past.

mod change;
mod install;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteExecutor, SqlitePool};
use tollgate_guest_abi::Semantics;
use tollgate_model::hold::Holds;
use tollgate_model::instruction::{
    ContentDigest, InstructionId, InstructionRecord, InstructionSource, Origin, Quarantine, RuleOwner,
};

use super::transactions::read;
use super::{ListRecord, RuleSetIdentity, StoreError, list_versions};

pub(super) use change::RuleSetChange;
pub(super) use install::install;

pub(super) async fn instructions(readers: &SqlitePool) -> Result<Vec<InstructionRecord>, StoreError> {
    let rows = sqlx::query(
        "SELECT id, name, script, source, created_at, updated_at, bytes, quarantine, terms FROM instructions \
         JOIN modules ON digest = instructions.module_digest \
         JOIN rule_set_members ON instruction_id = id AND until_version IS NULL \
         WHERE removed_in IS NULL ORDER BY id",
    )
    .fetch_all(readers)
    .await?;
    rows.iter().map(instruction_of).collect()
}

pub(super) async fn last_instruction_id(readers: &SqlitePool) -> Result<i64, StoreError> {
    let last: Option<i64> = sqlx::query_scalar("SELECT max(id) FROM instructions").fetch_one(readers).await?;
    Ok(last.unwrap_or(0))
}

pub(super) async fn any_version_held(readers: &SqlitePool, kind: &str) -> Result<bool, StoreError> {
    let has_had = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM instructions WHERE json_extract(source, '$.kind') = ?1) \
         OR EXISTS (SELECT 1 FROM rule_set_lists WHERE json_extract(source, '$.kind') = ?1)",
    );
    Ok(has_had.bind(kind).fetch_one(readers).await?)
}

pub(super) async fn lists<'e>(readers: impl SqliteExecutor<'e>) -> Result<Vec<ListRecord>, StoreError> {
    let rows = sqlx::query(
        "SELECT name, lists.entries, whole.entries, lists.digest, source FROM rule_set_lists \
         JOIN lists ON lists.digest = list_digest LEFT JOIN lists AS whole ON whole.digest = lists.base \
         WHERE until_version IS NULL ORDER BY name",
    )
    .fetch_all(readers)
    .await?;
    let read = |row: &SqliteRow| {
        Ok(ListRecord {
            name: row.try_get(0)?,
            entries: list_versions::entries_of(row, 1)?.into(),
            digest: digest_of(row, 3)?,
            source: source_of(row.try_get(4)?)?,
        })
    };
    rows.iter().map(read).collect()
}

type NewestRow = (i64, Option<String>, Option<String>, i64, Option<Vec<u8>>, Option<Vec<u8>>, Option<String>);

pub(super) async fn last(readers: &SqlitePool) -> Result<Option<RuleSetIdentity>, StoreError> {
    // In one transaction, so that the three queries see the same version.
    let mut snapshot = readers.begin().await?;
    let newest: Option<NewestRow> = sqlx::query_as(
        "SELECT version, git_commit, service, semantics, zone_data, status_words, holds FROM rule_sets \
         ORDER BY version DESC LIMIT 1",
    )
    .fetch_optional(&mut *snapshot)
    .await?;
    let Some((version, commit, service, semantics, zones, words, holds)) = newest else { return Ok(None) };
    let members = sqlx::query(
        "SELECT instruction_id, module_digest FROM rule_set_members WHERE until_version IS NULL ORDER BY 1",
    )
    .fetch_all(&mut *snapshot)
    .await?;
    let lists =
        sqlx::query("SELECT name, list_digest FROM rule_set_lists WHERE until_version IS NULL ORDER BY 1")
            .fetch_all(&mut *snapshot)
            .await?;
    Ok(Some(RuleSetIdentity {
        version: read(version)?,
        commit: commit.map(Into::into),
        service: service.map(Into::into),
        semantics: semantics_of(semantics)?,
        zones: zones.as_deref().map(digest_from).transpose()?,
        status_words: words.as_deref().map(digest_from).transpose()?,
        holds: holds_of(holds.as_deref())?,
        members: members
            .iter()
            .map(|row| Ok((InstructionId(row.try_get(0)?), digest_of(row, 1)?)))
            .collect::<Result<_, StoreError>>()?,
        lists: lists
            .iter()
            .map(|row| Ok((row.try_get(0)?, digest_of(row, 1)?)))
            .collect::<Result<_, StoreError>>()?,
    }))
}

fn instruction_of(row: &SqliteRow) -> Result<InstructionRecord, StoreError> {
    let terms = row.try_get::<Option<&str>, _>(8)?.map(terms_of).transpose()?;
    Ok(InstructionRecord {
        id: InstructionId(row.try_get(0)?),
        name: row.try_get(1)?,
        script: row.try_get(2)?,
        source: source_of(row.try_get(3)?)?,
        created_at: time_of(row.try_get(4)?)?,
        updated_at: time_of(row.try_get(5)?)?,
        module: row.try_get(6)?,
        quarantine: row.try_get::<Option<&str>, _>(7)?.map(quarantine_of).transpose()?,
        origin: terms.as_ref().map(|terms| terms.origin),
        owner: terms.and_then(|terms| terms.owner),
    })
}

pub(super) fn digest_of(row: &SqliteRow, column: usize) -> Result<ContentDigest, StoreError> {
    digest_from(row.try_get(column)?)
}

pub(super) fn digest_from(bytes: &[u8]) -> Result<ContentDigest, StoreError> {
    bytes.try_into().map(ContentDigest).map_err(|_| StoreError::corrupt("a digest is not 32 bytes long"))
}

fn source_of(json: &str) -> Result<InstructionSource, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Corrupt {
        what: "the source of an instruction cannot be read".to_owned(),
        source: Some(error.into()),
    })
}

pub(super) fn quarantine_of(json: &str) -> Result<Quarantine, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Corrupt {
        what: "the quarantine of an instruction cannot be read".to_owned(),
        source: Some(error.into()),
    })
}

/// Reads the reasons to hold every transaction under a version; most have none.
pub(super) fn holds_of(json: Option<&str>) -> Result<Holds, StoreError> {
    json.map_or(Ok(Holds::default()), serde_json::from_str).map_err(|error| StoreError::Corrupt {
        what: "the holds of a rule set cannot be read".to_owned(),
        source: Some(error.into()),
    })
}

/// The terms on which a member of a rule set version runs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MemberTerms {
    #[serde(flatten)]
    pub(super) origin: Origin,
    /// `None` in versions from before rules had owners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<RuleOwner>,
}

impl MemberTerms {
    fn of(record: &InstructionRecord) -> Option<Self> {
        record.origin.map(|origin| Self { origin, owner: record.owner.clone() })
    }
}

pub(super) fn terms_of(json: &str) -> Result<MemberTerms, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Corrupt {
        what: "the terms of a module cannot be read".to_owned(),
        source: Some(error.into()),
    })
}

pub(super) fn semantics_of(number: i64) -> Result<Semantics, StoreError> {
    let known = u32::try_from(number).ok().and_then(|number| Semantics::try_from(number).ok());
    known.ok_or_else(|| {
        StoreError::corrupt(format!("a rule set has semantics {number}, which this program does not know"))
    })
}

fn time_of(text: &str) -> Result<DateTime<Utc>, StoreError> {
    let time = DateTime::parse_from_rfc3339(text).map_err(|error| StoreError::Corrupt {
        what: "a time cannot be read".to_owned(),
        source: Some(error.into()),
    })?;
    Ok(time.to_utc())
}

/// Formats a time without trailing zeros in the fraction.
pub(super) fn text_of(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}
