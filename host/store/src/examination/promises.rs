//! The guarantees of the service about its store, as queries: each returns one line for every violation.

use futures_util::TryStreamExt as _;
use sqlx::{Row as _, SqliteConnection};
use tollgate_model::instruction::ContentDigest;

use super::{FAULTS_MAX, StoreError, StoreFinding};
use crate::list_versions;

struct Promise {
    what: &'static str,
    /// The remark if the query returns no rows.
    fine: &'static str,
    question: &'static str,
}

const PROMISES: [Promise; 8] = [
    Promise {
        what: "numbers",
        fine: "each is used once, for a transaction, a status update or a deferred verdict",
        question: "SELECT 'number ' || sequence || ' is given twice' FROM status_updates \
                   JOIN transactions USING (sequence) \
                   UNION ALL SELECT 'number ' || sequence || ' is given twice' FROM late_verdicts \
                   JOIN transactions USING (sequence) \
                   UNION ALL SELECT 'number ' || sequence || ' is given twice' FROM late_verdicts \
                   JOIN status_updates USING (sequence) \
                   UNION ALL SELECT 'a transaction has number ' || sequence FROM transactions WHERE sequence < 1",
    },
    Promise {
        what: "targets",
        fine: "every update and deferred verdict follows its transaction",
        question: "SELECT 'number ' || u.sequence || ' is about no earlier transaction' FROM status_updates u \
                   LEFT JOIN transactions t ON t.sequence = u.target \
                   WHERE t.sequence IS NULL OR u.target >= u.sequence \
                   UNION ALL SELECT 'number ' || l.sequence || ' judges no earlier transaction' FROM late_verdicts l \
                   LEFT JOIN transactions t ON t.sequence = l.target \
                   WHERE t.sequence IS NULL OR l.target >= l.sequence \
                   UNION ALL SELECT 'number ' || l.sequence || ' judges again' FROM late_verdicts l \
                   JOIN transactions t ON t.sequence = l.target WHERE t.assessment <> ''",
    },
    Promise {
        what: "verdicts",
        fine: "every verdict matches its transaction",
        // SQLite cuts an extracted text off at a zero character, so ids with one are not compared.
        question: "SELECT 'the verdict of number ' || sequence || ' is none, or of another' FROM transactions \
                   WHERE assessment <> '' AND CASE WHEN json_valid(assessment) AND json_valid(body) \
                   THEN json_extract(assessment, '$.rule_set_version') IS NOT rule_set_version \
                   OR (json_extract(assessment, '$.transaction_id') IS NOT transaction_id \
                   AND instr(assessment, '\\u0000') = 0) ELSE TRUE END \
                   UNION ALL SELECT 'the verdict of number ' || sequence || ' is missing' FROM transactions \
                   WHERE assessment = '' AND rule_set_version <> 0 \
                   UNION ALL SELECT 'the late verdict of number ' || l.sequence || ' is none, or of another' \
                   FROM late_verdicts l JOIN transactions t ON t.sequence = l.target \
                   WHERE CASE WHEN json_valid(l.assessment) AND json_valid(l.body) \
                   THEN json_extract(l.assessment, '$.rule_set_version') IS NOT l.rule_set_version \
                   OR (json_extract(l.assessment, '$.transaction_id') IS NOT t.transaction_id \
                   AND instr(l.assessment, '\\u0000') = 0) ELSE TRUE END",
    },
    Promise {
        what: "rule sets",
        fine: "every version that a verdict names exists",
        question: "SELECT 'verdicts name version ' || rule_set_version || ', which is not there' FROM \
                   (SELECT DISTINCT rule_set_version FROM transactions \
                   UNION SELECT rule_set_version FROM late_verdicts) \
                   WHERE rule_set_version NOT IN (SELECT version FROM rule_sets) AND rule_set_version <> 0",
    },
    Promise {
        what: "members",
        fine: "the modules and lists of every version are recorded",
        question: "SELECT 'rule ' || instruction_id || ' ends before it begins' FROM rule_set_members \
                   WHERE until_version <= since_version \
                   UNION ALL SELECT 'rule ' || a.instruction_id || ' is in version ' || b.since_version || ' twice' \
                   FROM rule_set_members a JOIN rule_set_members b ON a.instruction_id = b.instruction_id \
                   AND a.since_version < b.since_version \
                   AND (a.until_version IS NULL OR a.until_version > b.since_version) \
                   UNION ALL SELECT 'rule ' || id || ' is in force and in no version, or with another module' \
                   FROM instructions LEFT JOIN rule_set_members m ON m.instruction_id = id AND until_version IS NULL \
                   WHERE removed_in IS NULL AND m.module_digest IS NOT instructions.module_digest \
                   UNION ALL SELECT 'rule ' || id || ' is removed and in force' FROM instructions \
                   JOIN rule_set_members ON instruction_id = id AND until_version IS NULL \
                   WHERE removed_in IS NOT NULL \
                   UNION ALL SELECT 'list ' || name || ' ends before it begins' FROM rule_set_lists \
                   WHERE until_version <= since_version \
                   UNION ALL SELECT 'list ' || a.name || ' is in version ' || b.since_version || ' twice' \
                   FROM rule_set_lists a JOIN rule_set_lists b ON a.name = b.name \
                   AND a.since_version < b.since_version \
                   AND (a.until_version IS NULL OR a.until_version > b.since_version)",
    },
    Promise {
        what: "alerts",
        fine: "every alert belongs to a stored verdict or to a dead letter of a ledger",
        question: "SELECT 'alert ' || a.id || ' is of no verdict' FROM alerts a \
                   LEFT JOIN transactions t ON t.transaction_id = a.transaction_id \
                   WHERE a.sequence < 4611686018427387904 AND (t.sequence IS NULL OR (t.sequence <> a.sequence AND NOT EXISTS \
                   (SELECT 1 FROM late_verdicts l WHERE l.sequence = a.sequence AND l.target = t.sequence)))",
    },
    Promise {
        what: "dead letters",
        fine: "their size is known",
        question: "SELECT 'the dead letters of ledgers are counted as ' || n_bytes || ' bytes and have ' || found \
                   FROM ledger_dead_letter_bytes, (SELECT coalesce(sum(length(CAST(row AS BLOB)) + \
                   length(CAST(detail AS BLOB))), 0) AS found FROM ledger_dead_letters) WHERE n_bytes <> found",
    },
    Promise {
        what: "name",
        fine: "the store has a unique name",
        question: "SELECT 'the store has no name' WHERE NOT EXISTS (SELECT 1 FROM store_name)",
    },
];

pub(super) async fn examine(
    connection: &mut SqliteConnection,
    found: &mut Vec<StoreFinding>,
) -> Result<(), StoreError> {
    for Promise { what, fine, question } in PROMISES {
        let faults = first_lines(connection, question).await?;
        found.push(StoreFinding::of(what, fine, faults));
    }
    for (what, question) in [
        ("modules", "SELECT digest, bytes FROM modules"),
        ("scripts", "SELECT digest, CAST(text AS BLOB) FROM scripts"),
        ("status words", "SELECT digest, CAST(text AS BLOB) FROM status_words"),
    ] {
        let faults = altered(connection, question).await?;
        found.push(StoreFinding::of(what, "all contents match their digests", faults));
    }
    let mut faults = list_versions::altered(connection).await?;
    faults.truncate(FAULTS_MAX);
    found.push(StoreFinding::of("lists", "all contents match their digests", faults));
    let faults = altered(connection, "SELECT digest, bytes FROM zone_data").await?;
    found.push(StoreFinding::of("zone data", "all contents match their digests", faults));
    Ok(())
}

/// Returns the first lines of a result; the rest is not read.
async fn first_lines(
    connection: &mut SqliteConnection,
    question: &'static str,
) -> Result<Vec<String>, StoreError> {
    let mut rows = sqlx::query_scalar(question).fetch(connection);
    let mut lines = Vec::new();
    while let Some(line) = rows.try_next().await? {
        lines.push(line);
        if lines.len() == FAULTS_MAX {
            lines.push("and possibly more".to_owned());
            break;
        }
    }
    Ok(lines)
}

/// Returns contents that do not match their digest.
async fn altered(
    connection: &mut SqliteConnection,
    question: &'static str,
) -> Result<Vec<String>, StoreError> {
    let mut rows = sqlx::query(question).fetch(connection);
    let mut faults = Vec::new();
    while let Some(row) = rows.try_next().await? {
        let (named, content): (&[u8], &[u8]) = (row.try_get(0)?, row.try_get(1)?);
        let digest = ContentDigest::of_bytes(content);
        if digest.0 != named && faults.len() < FAULTS_MAX {
            faults.push(format!("one does not match its digest; its content now has {digest}"));
        }
    }
    Ok(faults)
}
