//! What is kept, as the rooms beside the store know it.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tollgate_guest_abi::Semantics;
use tollgate_model::instruction::{
    ContentDigest, InstructionId, InstructionRecord, InstructionSource, Origin, Quarantine,
};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{Fingerprint, ReportedStatus};

use crate::{AlertRecord, EntryChange};

/// A transaction with the assessment it got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionRecord {
    /// Its place in the order of acceptance.
    pub sequence: Sequence,
    /// Unique.
    pub transaction_id: Arc<str>,
    /// What the caller said.
    pub fingerprint: Fingerprint,
    /// When it happened, in microseconds since 1970 UTC.
    pub event_micros: i64,
    /// When it was accepted, in microseconds since 1970 UTC.
    pub accepted_micros: i64,
    /// The version of the rule set that judged it; 0 when nobody did.
    pub rule_set_version: u64,
    /// The transaction as JSON, see [`Transaction::to_stored`](tollgate_model::transaction::Transaction::to_stored).
    pub body: String,
    /// The canonical answer as JSON; `None` of one that a ledger fed and nobody judged on that occasion.
    pub assessment: Option<String>,
}

/// A verdict on a transaction that had its place in the log before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeferredVerdictRecord {
    /// Its own place in the order of acceptance: the verdict has seen the status updates before it.
    pub sequence: Sequence,
    /// The number of the transaction: the verdict has counted the transactions before it.
    pub target: Sequence,
    /// The version of the rule set that judged it.
    pub rule_set_version: u64,
    /// What was judged, and how.
    pub verdict: DeferredVerdict,
}

/// What was judged late, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeferredVerdict {
    /// What the caller said who wanted the verdict.
    pub fingerprint: Fingerprint,
    /// The transaction as that caller sent it, as JSON.
    pub body: String,
    /// The canonical answer as JSON.
    pub assessment: String,
}

/// How far a ledger has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerMark {
    /// The earliest time from which rows were read, in microseconds since 1970 UTC.
    pub since_micros: i64,
    /// The time of the last row that is done, in microseconds since 1970 UTC.
    pub micros: i64,
    /// Its id; `None` when rows of the same time may be unread.
    pub row_id: Option<Arc<str>>,
}

/// A row of a ledger that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Of everything in the row: the same row never has two dead letters.
    pub digest: [u8; 32],
    /// Its id, cut short.
    pub transaction_id: String,
    /// Its time, as the database writes it.
    pub created_at: String,
    /// Why not, in one word that is stable across versions.
    pub reason: &'static str,
    /// Why not, for people.
    pub detail: String,
    /// The row as JSON, cut short.
    pub row: String,
    /// When it was found, in microseconds since 1970 UTC.
    pub found_micros: i64,
}

/// What becomes of a ledger's mark, together with the rows up to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerProgress {
    /// Which ledger.
    pub feed: Arc<str>,
    /// Where it stands from then on; `None`: where it stood.
    pub mark: Option<LedgerMark>,
    /// Rows that could not be taken.
    pub dead_letters: Vec<DeadLetter>,
}

/// What is kept together.
#[derive(Debug, Clone, Default)]
pub struct CommitRecord<'a> {
    /// New transactions.
    pub transactions: Vec<&'a TransactionRecord>,
    /// Status updates of these, or of older ones.
    pub updates: Vec<&'a StatusUpdateRecord>,
    /// Verdicts on transactions that a ledger fed.
    pub deferred_verdicts: Vec<&'a DeferredVerdictRecord>,
    /// What was read of ledgers.
    pub ledger: Vec<&'a LedgerProgress>,
    /// What became of entries of a ledger that keeps several for one payment.
    pub entries: &'a [EntryChange],
    /// Ids of transactions, and what was told last of each, as JSON.
    pub descriptions: &'a [(Box<str>, Box<str>)],
    /// Numbers of transactions, and what was told of the status of each, where a ledger tells when it changed.
    pub standings: Vec<(Sequence, &'a ReportedStatus)>,
    /// What webhooks should hear of these verdicts.
    pub alerts: Vec<AlertRecord>,
}

/// A status that became another. The transaction's own record stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusUpdateRecord {
    /// Its place in the order of acceptance, among the transactions.
    pub sequence: Sequence,
    /// The number of the transaction.
    pub target: Sequence,
    /// The status it had.
    pub before: Option<Arc<str>>,
    /// The status it has.
    pub after: Arc<str>,
    /// What the ledger called the news.
    pub event: Arc<str>,
    /// When it was accepted, in microseconds since 1970 UTC.
    pub accepted_micros: i64,
}

/// A transaction and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentRecord {
    /// As it was accepted.
    pub record: TransactionRecord,
    /// The status of its last update; `None` when there was none, and the one it was accepted with stands.
    pub status: Option<String>,
    /// What was told of its status, where a ledger told when it changed; `None` where its record and its updates say it all.
    pub standing: Option<ReportedStatus>,
    /// The verdict it got later.
    pub late: Option<DeferredVerdict>,
}

impl CurrentRecord {
    /// The answer it got, at once or later; `None` when nobody judged it.
    #[must_use]
    pub fn assessment(&self) -> Option<&str> {
        let late = || self.late.as_ref().map(|late| late.assessment.as_str());
        self.record.assessment.as_deref().or_else(late)
    }

    /// What its caller said: who got the verdict, or else who told of it first.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.late.as_ref().map_or(self.record.fingerprint, |late| late.fingerprint)
    }

    /// What that caller sent, as JSON.
    #[must_use]
    pub fn body(&self) -> &str {
        self.late.as_ref().map_or(&self.record.body, |late| &late.body)
    }
}

/// A version of the rule set, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleSetRecord {
    /// Higher than every version before.
    pub version: u64,
    /// When it came into force.
    pub created_at: DateTime<Utc>,
    /// Every instruction in force.
    pub instructions: Vec<Arc<InstructionRecord>>,
    /// Every named list in force.
    pub lists: Vec<ListRecord>,
    /// The Git commit whose rules are among the instructions, in hexadecimal digits.
    pub commit: Option<Arc<str>>,
    /// The version of the service that runs them; `None` where that was not noted.
    pub service: Option<Arc<str>>,
    /// The meaning of the language that it has.
    pub semantics: Semantics,
    /// The zone data that they are run by; `None` for the data that never changes.
    pub zones: Option<ZoneDataRecord>,
}

/// Zone data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneDataRecord {
    /// Of the archive.
    pub digest: ContentDigest,
    /// The release, such as `2026f`.
    pub name: String,
    /// All zones.
    pub archive: Arc<[u8]>,
}

/// A named list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRecord {
    /// Without the `$`.
    pub name: String,
    /// Its text, one entry a line.
    pub entries: Arc<str>,
    /// Of the text.
    pub digest: ContentDigest,
    /// Where it comes from.
    pub source: InstructionSource,
}

/// What a version of the rule set is made of, by digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSetIdentity {
    /// The version.
    pub version: u64,
    /// The module of every instruction, in order of their ids.
    pub members: Vec<(InstructionId, ContentDigest)>,
    /// The entries of every list, in order of their names.
    pub lists: Vec<(String, ContentDigest)>,
    /// The Git commit it names.
    pub commit: Option<Arc<str>>,
    /// The version of the service it names.
    pub service: Option<Arc<str>>,
    /// The meaning of the language that it has.
    pub semantics: Semantics,
    /// The zone data it names.
    pub zones: Option<ContentDigest>,
}

/// A version of the rule set as its verdicts depend on it, by digest.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleSetParts {
    /// In order of their ids.
    pub members: Vec<MemberRecord>,
    /// The entries of every list, in order of their names.
    pub lists: Vec<(String, ContentDigest)>,
    /// The version of the service that ran it, where that was noted.
    pub service: Option<Arc<str>>,
    /// The meaning of the language that it had.
    pub semantics: Semantics,
    /// The zone data that it was run by; `None` for the data that never changes.
    pub zones: Option<ContentDigest>,
}

/// What stood for an instruction in a version of the rule set.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberRecord {
    /// Of the instruction.
    pub id: InstructionId,
    /// The rule's name.
    pub name: String,
    /// Whether the instruction is a script today.
    pub is_script: bool,
    /// Of the module.
    pub digest: ContentDigest,
    /// Why it was not run, if it was not.
    pub quarantine: Option<Quarantine>,
    /// On what terms it ran, where that was noted.
    pub origin: Option<Origin>,
}

/// One row of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEntry {
    /// A transaction, with its verdict or without.
    Accepted(TransactionRecord),
    /// A status became another; with the body of the transaction.
    Updated(StatusUpdateRecord, String),
    /// A verdict on a transaction that had its place before.
    JudgedDeferred(DeferredVerdictRecord),
}

impl LogEntry {
    /// Its place in the order of acceptance.
    #[must_use]
    pub const fn sequence(&self) -> Sequence {
        match self {
            Self::Accepted(record) => record.sequence,
            Self::Updated(record, _) => record.sequence,
            Self::JudgedDeferred(record) => record.sequence,
        }
    }
}
