//! Records that other modules pass to and receive from the store.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tollgate_guest_abi::Semantics;
use tollgate_model::hold::Holds;
use tollgate_model::instruction::{
    ContentDigest, InstructionId, InstructionRecord, InstructionSource, Origin, Quarantine, RuleOwner,
};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{Fingerprint, JsonNumber, ReportedStatus, Transaction};

use crate::without_effect::StatusWithoutEffect;
use crate::{AlertRecord, EntryChange};

/// A transaction with its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashRecord {
    /// Sequence number of the transaction.
    pub sequence: Sequence,
    /// Id of the transaction.
    pub transaction_id: String,
    /// Its hash; `None` if it has none.
    pub hash: Option<String>,
    /// When it was accepted, in microseconds since 1970 UTC.
    pub accepted_micros: i64,
}

/// Times of the last stored transactions, in microseconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastTimes {
    /// When the last one was accepted.
    pub accepted_micros: i64,
    /// The latest event time of the last 10,000. An event counts as no later than its acceptance.
    pub event_micros: i64,
}

/// A transaction with its assessment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionRecord {
    /// Position in the order of acceptance.
    pub sequence: Sequence,
    /// Unique id.
    pub transaction_id: Arc<str>,
    /// Fingerprint of the request.
    pub fingerprint: Fingerprint,
    /// When it happened, in microseconds since 1970 UTC.
    pub event_micros: i64,
    /// When it was accepted, in microseconds since 1970 UTC.
    pub accepted_micros: i64,
    /// The version of the rule set that judged it; 0 if it was not judged.
    pub rule_set_version: u64,
    /// The transaction as JSON, see [`Transaction::to_stored`](tollgate_model::transaction::Transaction::to_stored).
    pub body: String,
    /// The canonical answer as JSON; `None` if the transaction was stored without a verdict.
    pub assessment: Option<String>,
    /// How it came to be stored.
    pub origin: TransactionOrigin,
}

/// How a transaction came to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionOrigin {
    /// A caller requested a verdict. Rows of a ledger that were stored before origins were have it as well.
    Request,
    /// A ledger reported it before anybody requested a verdict.
    Ledger,
    /// A caller added it to the history without a verdict.
    Past,
}

impl TransactionOrigin {
    /// Returns the value of the column `is_reported`.
    pub(super) const fn stored(self) -> Option<bool> {
        match self {
            Self::Request => None,
            Self::Ledger => Some(true),
            Self::Past => Some(false),
        }
    }

    /// Returns the origin with this value in the column `is_reported`.
    pub(super) const fn read(is_reported: Option<bool>) -> Self {
        match is_reported {
            None => Self::Request,
            Some(true) => Self::Ledger,
            Some(false) => Self::Past,
        }
    }
}

/// A verdict given after its transaction was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeferredVerdictRecord {
    /// Sequence number of the verdict, which has seen the status updates before it.
    pub sequence: Sequence,
    /// Sequence number of the transaction; the verdict has counted the transactions before it.
    pub target: Sequence,
    /// The version of the rule set that judged it.
    pub rule_set_version: u64,
    /// The verdict.
    pub verdict: DeferredVerdict,
}

/// A deferred verdict and the request for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeferredVerdict {
    /// Fingerprint of the request for the verdict.
    pub fingerprint: Fingerprint,
    /// The transaction in that request, as JSON.
    pub body: String,
    /// The canonical answer as JSON.
    pub assessment: String,
}

/// The progress in reading a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerMark {
    /// The earliest time from which rows were read, in microseconds since 1970 UTC.
    pub since_micros: i64,
    /// The time of the last completed row, in microseconds since 1970 UTC.
    pub micros: i64,
    /// Id of that row; `None` if rows with the same time may be unread.
    pub row_id: Option<Arc<str>>,
}

/// A row of a ledger that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Digest of the whole row; the same row never has two dead letters.
    pub digest: [u8; 32],
    /// Id of the row, truncated.
    pub transaction_id: String,
    /// Time of the row, as formatted by the ledger's database.
    pub created_at: String,
    /// The reason, as a word that is stable across versions.
    pub reason: &'static str,
    /// The reason, for people.
    pub detail: String,
    /// The row as JSON, truncated.
    pub row: String,
    /// When it was found, in microseconds since 1970 UTC.
    pub found_micros: i64,
    /// The alert for webhooks about it, stored with it.
    pub alert: Option<AlertRecord>,
}

impl DeadLetter {
    /// Returns the number of an alert about it. It follows from the digest and is above every sequence number.
    #[must_use]
    pub fn alert_sequence(&self) -> Sequence {
        let first =
            self.digest.iter().take(size_of::<u64>()).fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
        Sequence(ALERTS_WITHOUT_VERDICT | (first & (ALERTS_WITHOUT_VERDICT - 1)))
    }
}

/// The least number of an alert that is about no verdict.
pub(crate) const ALERTS_WITHOUT_VERDICT: u64 = 1 << 62;

/// Progress in a ledger, stored together with the rows up to the mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerProgress {
    /// Name of the ledger's feed.
    pub feed: Arc<str>,
    /// The new mark; `None` leaves it unchanged.
    pub mark: Option<LedgerMark>,
    /// Rows that could not be taken.
    pub dead_letters: Vec<DeadLetter>,
}

/// The records of one commit: all of them are stored, or none.
#[derive(Debug, Clone, Default)]
pub struct CommitRecord<'a> {
    /// New transactions.
    pub transactions: Vec<&'a TransactionRecord>,
    /// Status updates of these transactions, or of older ones.
    pub updates: Vec<&'a StatusUpdateRecord>,
    /// Verdicts on transactions that were stored without one.
    pub deferred_verdicts: Vec<&'a DeferredVerdictRecord>,
    /// The progress of ledger feeds.
    pub ledger: Vec<&'a LedgerProgress>,
    /// Changes of ledger entries, for a ledger that keeps several for one payment.
    pub entries: &'a [EntryChange],
    /// Ids of transactions with their latest description, as JSON.
    pub descriptions: &'a [(Box<str>, Box<str>)],
    /// Sequence numbers of transactions, and the reported status of each, where a ledger reports when it changed.
    pub standings: Vec<(Sequence, &'a ReportedStatus)>,
    /// Statuses that did not stand.
    pub without_effect: &'a [StatusWithoutEffect],
    /// Alerts for webhooks about these verdicts.
    pub alerts: Vec<AlertRecord>,
}

impl CommitRecord<'_> {
    /// Returns the highest number in the commit, or 0 if it has none.
    pub(crate) fn last(&self) -> Sequence {
        let transactions = self.transactions.iter().map(|record| record.sequence);
        let updates = self.updates.iter().map(|update| update.sequence);
        let verdicts = self.deferred_verdicts.iter().map(|verdict| verdict.sequence);
        transactions.chain(updates).chain(verdicts).max().unwrap_or_default()
    }
}

/// A change of status. The transaction's own record is unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusUpdateRecord {
    /// Sequence number of the update.
    pub sequence: Sequence,
    /// Sequence number of the transaction.
    pub target: Sequence,
    /// The old status.
    pub before: Option<Arc<str>>,
    /// The new status.
    pub after: Arc<str>,
    /// The ledger's event name.
    pub event: Arc<str>,
    /// When it was accepted, in microseconds since 1970 UTC.
    pub accepted_micros: i64,
    /// The amounts, if the amount of the transaction has ever changed.
    pub amounts: Option<AmountUpdate>,
}

/// The amount of a transaction before and after an update, as JSON numbers. The two are equal if only the status changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmountUpdate {
    /// The old amount.
    pub before: Box<str>,
    /// The new amount.
    pub after: Box<str>,
}

impl StatusUpdateRecord {
    /// Returns the transaction before and after the update.
    #[must_use]
    pub fn applied_to(&self, accepted: &Transaction) -> (Transaction, Transaction) {
        let with = |status: Option<&str>, amount: Option<&str>| {
            let changed = accepted.with_status(status);
            match amount.and_then(JsonNumber::from_stored) {
                Some(amount) => changed.with_amount(&amount),
                None => changed,
            }
        };
        let amounts = self.amounts.as_ref();
        (
            with(self.before.as_deref(), amounts.map(|amounts| &*amounts.before)),
            with(Some(&self.after), amounts.map(|amounts| &*amounts.after)),
        )
    }
}

/// A transaction with its current state.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentRecord {
    /// The transaction as accepted.
    pub record: TransactionRecord,
    /// The status of the last update; `None` if the accepted status is unchanged.
    pub status: Option<String>,
    /// The amount after the last update, if the amount has ever changed.
    pub amount: Option<JsonNumber>,
    /// The reported statuses, if the ledger dated a change; `None` if the record and its updates are sufficient.
    pub standing: Option<ReportedStatus>,
    /// The deferred verdict.
    pub late: Option<DeferredVerdict>,
}

impl CurrentRecord {
    /// Returns the answer, immediate or deferred, or `None` if the transaction was not judged.
    #[must_use]
    pub fn assessment(&self) -> Option<&str> {
        let late = || self.late.as_ref().map(|late| late.assessment.as_str());
        self.record.assessment.as_deref().or_else(late)
    }

    /// Returns the fingerprint of the request that got the verdict, or else of the first report.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.late.as_ref().map_or(self.record.fingerprint, |late| late.fingerprint)
    }

    /// Returns the body of that request, as JSON.
    #[must_use]
    pub fn body(&self) -> &str {
        self.late.as_ref().map_or(&self.record.body, |late| &late.body)
    }
}

/// A complete version of the rule set.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleSetRecord {
    /// The version, higher than all earlier ones.
    pub version: u64,
    /// When it came into force.
    pub created_at: DateTime<Utc>,
    /// All instructions in force.
    pub instructions: Vec<Arc<InstructionRecord>>,
    /// All named lists in force.
    pub lists: Vec<ListRecord>,
    /// The Git commit of the rules among the instructions, in hexadecimal.
    pub commit: Option<Arc<str>>,
    /// The version of the service that runs them; `None` if it was not recorded.
    pub service: Option<Arc<str>>,
    /// The language semantics of the rules.
    pub semantics: Semantics,
    /// The zone data of the rules; `None` for the frozen data.
    pub zones: Option<ZoneDataRecord>,
    /// The table of status words of the rules; `None` before rules could ask for stages.
    pub status_words: Option<StatusWordsRecord>,
    /// Reasons to hold every new transaction for review.
    pub holds: Holds,
}

/// A table of status words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusWordsRecord {
    /// Digest of the text.
    pub digest: ContentDigest,
    /// A line for each word, with its stage.
    pub text: String,
}

/// Zone data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneDataRecord {
    /// Digest of the archive.
    pub digest: ContentDigest,
    /// The release, such as `2026f`.
    pub name: String,
    /// The archive of all zones.
    pub archive: Arc<[u8]>,
}

/// A named list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRecord {
    /// Name without the `$`.
    pub name: String,
    /// The text, one entry per line.
    pub entries: Arc<str>,
    /// Digest of the text.
    pub digest: ContentDigest,
    /// The origin of the list.
    pub source: InstructionSource,
}

/// The contents of a rule set version, by digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSetIdentity {
    /// The version.
    pub version: u64,
    /// The module of every instruction, ordered by id.
    pub members: Vec<(InstructionId, ContentDigest)>,
    /// The entries of every list, ordered by name.
    pub lists: Vec<(String, ContentDigest)>,
    /// The Git commit.
    pub commit: Option<Arc<str>>,
    /// The version of the service.
    pub service: Option<Arc<str>>,
    /// The language semantics.
    pub semantics: Semantics,
    /// The zone data; `None` for the frozen data.
    pub zones: Option<ContentDigest>,
    /// The table of status words; `None` before rules could ask for stages.
    pub status_words: Option<ContentDigest>,
    /// Reasons to hold every new transaction for review.
    pub holds: Holds,
}

/// Everything in a rule set version that verdicts depend on, by digest.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleSetParts {
    /// The members, ordered by id.
    pub members: Vec<MemberRecord>,
    /// The entries of every list, ordered by name.
    pub lists: Vec<(String, ContentDigest)>,
    /// The version of the service that ran it, if it was recorded.
    pub service: Option<Arc<str>>,
    /// The language semantics.
    pub semantics: Semantics,
    /// The zone data; `None` for the frozen data.
    pub zones: Option<ContentDigest>,
    /// The table of status words; `None` before rules could ask for stages.
    pub status_words: Option<ContentDigest>,
    /// Reasons to hold every new transaction for review.
    pub holds: Holds,
}

/// An instruction as a member of a rule set version.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberRecord {
    /// Id of the instruction.
    pub id: InstructionId,
    /// Name of the rule.
    pub name: String,
    /// Whether the instruction is now a script.
    pub is_script: bool,
    /// Digest of the module.
    pub digest: ContentDigest,
    /// The reason why it was not run, if it was quarantined.
    pub quarantine: Option<Quarantine>,
    /// Author and limits of the module, if they were noted.
    pub origin: Option<Origin>,
    /// The owner of the rule, if rules had owners.
    pub owner: Option<RuleOwner>,
}

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEntry {
    /// A transaction, with or without a verdict.
    Accepted(TransactionRecord),
    /// A status update, with the body of the transaction.
    Updated(StatusUpdateRecord, String),
    /// A deferred verdict.
    JudgedDeferred(DeferredVerdictRecord),
}

impl LogEntry {
    /// Returns the sequence number of the entry.
    #[must_use]
    pub const fn sequence(&self) -> Sequence {
        match self {
            Self::Accepted(record) => record.sequence,
            Self::Updated(record, _) => record.sequence,
            Self::JudgedDeferred(record) => record.sequence,
        }
    }
}
