//! One pass over the log from its beginning, for the verdicts of some versions.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tollgate_history::{History, PastItem};
use tollgate_model::calendar::ZoneData;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_store::{DeferredVerdictRecord, LogEntry, StatusUpdateRecord, StoreError, TransactionRecord};

use crate::replay::comparison::Difference;
use crate::replay::questions::AnswerableQuestions;
use crate::replay::verdict_jobs::{VerdictEvaluators, VerdictJob};
use crate::replay::version_cache::{RebuiltVersion, VersionCache};
use crate::replay::{
    AuditDeps, AuditError, AuditFinding, AuditObserver, AuditRange, AuditRemark, AuditSummary,
    VerdictPosition, status_words, zones,
};

const BATCH: u64 = 1_024;
/// Maximum number of transactions that are judged together.
const TOGETHER_MAX: usize = 64;
/// Transactions whose history is read from the disk at the same time. They wait a second at most, as those of the service do.
const READ_AT_ONCE: usize = 16;

type LogReading = JoinHandle<Result<Vec<LogEntry>, StoreError>>;

/// A transaction that is not in the history yet.
struct WaitingTransaction {
    position: VerdictPosition,
    transaction: Arc<Transaction>,
    /// Its verdict, if it is one of this pass.
    verdict: Option<WaitingVerdict>,
}

struct WaitingVerdict {
    /// Contradictions within the row, and with earlier rows.
    contradictions: Vec<Difference>,
    /// The job that derives it, or the reason why it cannot be derived.
    job: Result<VerdictJob, AuditRemark>,
}

pub(super) struct AuditPass<'m> {
    deps: &'m AuditDeps,
    history: History,
    _questions: AnswerableQuestions,
    versions: BTreeSet<u64>,
    /// Whether items that belong to no version are counted; true in the first pass.
    counts_all: bool,
    editions: VersionCache,
    evaluators: VerdictEvaluators,
    waiting: Vec<WaitingTransaction>,
    /// The highest number fed to the history.
    fed: Sequence,
    /// The highest version so far that judged a transaction at its own number.
    latest_version: u64,
}

impl<'m> AuditPass<'m> {
    /// Creates a pass over the next versions, the last of `left` first, as many as the history can serve.
    pub(super) fn over(deps: &'m AuditDeps, left: &mut Vec<u64>) -> Result<Self, AuditError> {
        // Versions with other zone data need a separate pass.
        let digest = left.last().map(|version| zones::named_by(deps, *version)).transpose()?.flatten();
        // Without the data, no verdict of the version can be derived; each is reported.
        let zones = zones::kept_under(deps, digest)?.unwrap_or_else(ZoneData::frozen);
        let words = left.last().map(|version| status_words::named_by(deps, *version)).transpose()?.flatten();
        let history = History::new()
            .in_zones(zones)
            .with_status_words(status_words::kept_under(deps, words)?)
            .bounded_with_temporary_keys(deps.memory_bytes, &deps.spill_dir)?;
        let (questions, versions) = AnswerableQuestions::of_next(deps, &history, left)?;
        Ok(Self {
            deps,
            history,
            _questions: questions,
            versions: versions.into_iter().collect(),
            counts_all: false,
            editions: VersionCache::default(),
            evaluators: VerdictEvaluators::new(&deps.sandbox, deps.n_threads),
            waiting: Vec::with_capacity(TOGETHER_MAX),
            fed: Sequence::default(),
            latest_version: 0,
        })
    }

    /// Reads the log up to the end of the range. Returns `false` if the observer stopped the pass.
    pub(super) fn walk(
        &mut self,
        stretch: AuditRange,
        witness: &mut dyn AuditObserver,
        summary: &mut AuditSummary,
    ) -> Result<bool, AuditError> {
        self.counts_all = summary.n_passes == 1;
        let mut seen = Sequence::default();
        let mut reading = self.read(seen, stretch.through);
        while seen < stretch.through {
            let batch = self.deps.executor.block_on(reading).map_err(|_| AuditError::Reader)??;
            seen = end_of(seen, stretch.through);
            // The next batch is read while this one is judged.
            reading = self.read(seen, stretch.through);
            for entry in batch {
                let taken = self.take(entry, stretch, witness, summary);
                if taken.is_err() {
                    self.judge_waiting(witness, summary);
                }
                taken?;
            }
            self.judge_waiting(witness, summary);
            if !witness.reached(seen) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn read(&self, after: Sequence, through: Sequence) -> LogReading {
        let store = self.deps.store.clone();
        self.deps.executor.spawn(async move { store.log(after, end_of(after, through)).await })
    }

    fn take(
        &mut self,
        entry: LogEntry,
        stretch: AuditRange,
        witness: &mut dyn AuditObserver,
        summary: &mut AuditSummary,
    ) -> Result<(), AuditError> {
        let is_asked_for = entry.sequence() >= stretch.from;
        let finding = match entry {
            LogEntry::Accepted(record) => return self.accepted(record, is_asked_for, witness, summary),
            LogEntry::Updated(record, body) => {
                // A change is seen by every query from then on, whatever number it is answered as of.
                self.judge_waiting(witness, summary);
                self.updated(&record, &body, is_asked_for)
            }
            LogEntry::JudgedDeferred(late)
                if is_asked_for && self.versions.contains(&late.rule_set_version) =>
            {
                self.judge_waiting(witness, summary);
                summary.n_verdicts += 1;
                self.judged_deferred(late, summary)?
            }
            LogEntry::JudgedDeferred(_) => None,
        };
        note(finding, witness, summary);
        Ok(())
    }

    fn accepted(
        &mut self,
        record: TransactionRecord,
        is_asked_for: bool,
        witness: &mut dyn AuditObserver,
        summary: &mut AuditSummary,
    ) -> Result<(), AuditError> {
        let position = VerdictPosition {
            sequence: record.sequence,
            transaction_id: Arc::clone(&record.transaction_id),
            rule_set_version: record.rule_set_version,
        };
        let transaction = match Transaction::from_stored(&record.body) {
            Ok(transaction) => Arc::new(transaction),
            Err(error) => {
                if self.counts_all && is_asked_for {
                    self.judge_waiting(witness, summary);
                    summary.n_verdicts += u64::from(record.assessment.is_some());
                    note(Some(position.unreadable(&error)), witness, summary);
                }
                return Ok(());
            }
        };
        let is_ours = is_asked_for && self.versions.contains(&record.rule_set_version);
        let contradictions = if is_ours { self.contradictions(&record, &transaction) } else { Vec::new() };
        let is_judged = record.assessment.is_some();
        summary.n_unjudged += u64::from(!is_judged && is_asked_for && self.counts_all);
        let verdict = match record.assessment.filter(|_| is_ours) {
            Some(stored) => {
                summary.n_verdicts += 1;
                let version = (record.rule_set_version, record.sequence);
                let job = self.job(&transaction, version, stored, summary)?;
                Some(WaitingVerdict { contradictions, job })
            }
            None => None,
        };
        if is_judged {
            self.latest_version = self.latest_version.max(record.rule_set_version);
        }
        self.waiting.push(WaitingTransaction { position, transaction, verdict });
        if self.waiting.len() >= TOGETHER_MAX {
            self.judge_waiting(witness, summary);
        }
        Ok(())
    }

    /// Adds the transactions that wait to the history, and derives their verdicts.
    fn judge_waiting(&mut self, witness: &mut dyn AuditObserver, summary: &mut AuditSummary) {
        let mut waiting = std::mem::take(&mut self.waiting);
        let jobs: Vec<&VerdictJob> = waiting.iter().filter_map(WaitingTransaction::job).collect();
        for at_once in jobs.chunks(READ_AT_ONCE) {
            self.history.prepare_all(at_once.iter().map(|job| &*job.transaction));
        }
        for WaitingTransaction { position, transaction, .. } in &waiting {
            self.feed(PastItem::Accepted { sequence: position.sequence, transaction });
        }
        let mut remarks = self.evaluators.remarks(&jobs).into_iter();
        for WaitingTransaction { position, verdict, .. } in waiting.drain(..) {
            let Some(WaitingVerdict { contradictions, job }) = verdict else { continue };
            let remark = match job {
                Ok(_) => remarks.next().flatten(),
                Err(remark) => Some(remark),
            };
            let what = remark_of(contradictions, remark);
            note(what.map(|what| AuditFinding { position, what }), witness, summary);
        }
        self.waiting = waiting;
    }

    /// Returns contradictions within the row, and with earlier rows.
    fn contradictions(&self, record: &TransactionRecord, transaction: &Transaction) -> Vec<Difference> {
        let of_body = &*transaction.transaction_id;
        let micros = transaction.timestamp.micros();
        let odd = [
            (&*record.transaction_id != of_body)
                .then(|| Difference::new("row of transaction_id", &record.transaction_id, of_body)),
            (record.event_micros != micros)
                .then(|| Difference::new("row of created_at", record.event_micros, micros)),
            (record.rule_set_version < self.latest_version).then(|| {
                let later = format!("at least {}, which judged an earlier transaction", self.latest_version);
                Difference::new("order of versions", record.rule_set_version, later)
            }),
        ];
        odd.into_iter().flatten().collect()
    }

    fn updated(
        &mut self,
        update: &StatusUpdateRecord,
        body: &str,
        is_asked_for: bool,
    ) -> Option<AuditFinding> {
        let StatusUpdateRecord { sequence, target, .. } = *update;
        match Transaction::from_stored(body) {
            Ok(accepted) => {
                let (before, after) = update.applied_to(&accepted);
                self.feed(PastItem::Updated { sequence, target, before: &before, after: &after });
                None
            }
            Err(error) => (self.counts_all && is_asked_for).then(|| {
                let transaction_id = format!("transaction number {target}").into();
                VerdictPosition { sequence, transaction_id, rule_set_version: 0 }.unreadable(&error)
            }),
        }
    }

    fn judged_deferred(
        &mut self,
        late: DeferredVerdictRecord,
        summary: &mut AuditSummary,
    ) -> Result<Option<AuditFinding>, AuditError> {
        let DeferredVerdictRecord { sequence, target, rule_set_version, verdict } = late;
        let position = |transaction_id| VerdictPosition { sequence, transaction_id, rule_set_version };
        let transaction = match Transaction::from_stored(&verdict.body) {
            Ok(transaction) => Arc::new(transaction),
            Err(error) => {
                return Ok(Some(position(format!("transaction number {target}").into()).unreadable(&error)));
            }
        };
        let job = self.job(&transaction, (rule_set_version, target), verdict.assessment, summary)?;
        let remark = match job {
            Ok(job) => self.evaluators.remarks(&[&job]).into_iter().next().flatten(),
            Err(remark) => Some(remark),
        };
        Ok(remark
            .map(|what| AuditFinding { position: position(Arc::clone(&transaction.transaction_id)), what }))
    }

    /// Returns the job that derives a verdict by a version, as of a number, or the reason why it cannot be derived. Counts verdicts of
    /// other services, and those on assumed terms.
    fn job(
        &mut self,
        transaction: &Arc<Transaction>,
        (version, as_of): (u64, Sequence),
        stored: String,
        summary: &mut AuditSummary,
    ) -> Result<Result<VerdictJob, AuditRemark>, AuditError> {
        let made = match self.editions.edition(self.deps, &self.history, version)? {
            RebuiltVersion::Whole(made) => made,
            RebuiltVersion::Broken(why) => {
                let why = format!("it cannot be rebuilt: {why}");
                let differs = vec![Difference::new("rule_set_version", version, why)];
                return Ok(Err(AuditRemark::Differs(differs)));
            }
        };
        summary.n_by_another_service += u64::from(made.is_by_another_service);
        summary.n_on_assumed_terms += u64::from(made.has_assumed_terms);
        let (rule_set, transaction) = (made.rule_set, Arc::clone(transaction));
        Ok(Ok(VerdictJob { rule_set, transaction, as_of, stored }))
    }

    /// Adds an item to the history, ignoring a repeated number; the service never assigns one twice.
    fn feed(&mut self, item: PastItem<'_>) {
        if item.sequence() > self.fed {
            self.fed = item.sequence();
            self.history.restore_item(item);
        }
    }
}

impl WaitingTransaction {
    fn job(&self) -> Option<&VerdictJob> {
        self.verdict.as_ref()?.job.as_ref().ok()
    }
}

/// Counts and reports a finding.
fn note(finding: Option<AuditFinding>, witness: &mut dyn AuditObserver, summary: &mut AuditSummary) {
    let Some(finding) = finding else { return };
    match finding.what {
        AuditRemark::Differs(_) => summary.n_differing += 1,
        AuditRemark::TakenOver(_) => summary.n_taken_over += 1,
        AuditRemark::NotDerived(_) => summary.n_not_derived += 1,
    }
    witness.on_finding(finding);
}

/// Merges the differences of the row into the remark on the verdict.
fn remark_of(mut odd: Vec<Difference>, remark: Option<AuditRemark>) -> Option<AuditRemark> {
    match remark {
        Some(AuditRemark::Differs(differences)) => {
            odd.extend(differences);
            Some(AuditRemark::Differs(odd))
        }
        remark if odd.is_empty() => remark,
        _ => Some(AuditRemark::Differs(odd)),
    }
}

fn end_of(after: Sequence, through: Sequence) -> Sequence {
    Sequence(after.0.saturating_add(BATCH)).min(through)
}

impl VerdictPosition {
    fn unreadable(self, error: &dyn std::fmt::Display) -> AuditFinding {
        let differs = Difference::new("body", "", format!("it cannot be read: {error}"));
        AuditFinding { position: self, what: AuditRemark::Differs(vec![differs]) }
    }
}

impl Difference {
    fn new(what: &'static str, stored: impl ToString, derived: impl ToString) -> Self {
        Self { what, stored: stored.to_string(), derived: derived.to_string() }
    }
}
