//! The log read once from its beginning, for the verdicts of some versions.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tollgate_engine::evaluation::{Evaluator, Outcomes};
use tollgate_engine::registry::RuleSet;
use tollgate_history::{History, PastItem};
use tollgate_model::assessment::Outcome;
use tollgate_model::calendar::ZoneData;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_store::{LateVerdictRecord, LogEntry, StatusUpdateRecord, StoreError, TransactionRecord};

use crate::audit::comparison::{Difference, compare, is_of_the_moment};
use crate::audit::edition::{Edition, Editions};
use crate::audit::questions::Questions;
use crate::audit::{AuditError, Finding, Means, Place, Remark, Stretch, Summary, Witness, zones};

/// Numbers read at once.
const BATCH: u64 = 1_024;
/// So often a rule is run that did not come to an end that counts.
const ATTEMPTS_MAX: usize = 3;

type Reading = JoinHandle<Result<Vec<LogEntry>, StoreError>>;

/// What was said of a transaction.
struct Verdict<'a> {
    version: u64,
    /// It counts what has a lower number.
    as_of: Sequence,
    stored: &'a str,
}

/// What a pass knows of the log so far.
pub(super) struct Pass<'m> {
    means: &'m Means,
    history: History,
    _questions: Questions,
    versions: BTreeSet<u64>,
    /// Whether what is no verdict is counted: in the first pass.
    counts_all: bool,
    editions: Editions,
    evaluator: Evaluator,
    /// The highest number that the history knows.
    fed: Sequence,
    /// The highest version that judged at its place so far.
    latest_version: u64,
}

impl<'m> Pass<'m> {
    /// For as many of these versions, the last first, as the history can have the questions of.
    pub(super) fn over(means: &'m Means, left: &mut Vec<u64>) -> Result<Self, AuditError> {
        // Versions by other zone data have a pass of their own.
        let digest = left.last().map(|version| zones::named_by(means, *version)).transpose()?.flatten();
        // Without the data nothing of the version is derived; that is said of each of its verdicts.
        let zones = zones::kept_under(means, digest)?.unwrap_or_else(ZoneData::frozen);
        let history = History::new().in_zones(zones).bounded(means.memory_bytes, &means.spill_dir)?;
        let (questions, versions) = Questions::of_next(means, &history, left)?;
        Ok(Self {
            means,
            history,
            _questions: questions,
            versions: versions.into_iter().collect(),
            counts_all: false,
            editions: Editions::default(),
            evaluator: Evaluator::new(means.sandbox.clone()),
            fed: Sequence::default(),
            latest_version: 0,
        })
    }

    /// Reads everything up to the end of the stretch; whether it was let.
    pub(super) fn walk(
        &mut self,
        stretch: Stretch,
        witness: &mut dyn Witness,
        summary: &mut Summary,
    ) -> Result<bool, AuditError> {
        self.counts_all = summary.n_passes == 1;
        let mut seen = Sequence::default();
        let mut reading = self.read(seen, stretch.through);
        while seen < stretch.through {
            let batch = self.means.executor.block_on(reading).map_err(|_| AuditError::Reader)??;
            seen = end_of(seen, stretch.through);
            // The next ones are read while these are judged.
            reading = self.read(seen, stretch.through);
            for entry in batch {
                self.take(entry, stretch, witness, summary)?;
            }
            if !witness.reached(seen) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn read(&self, after: Sequence, through: Sequence) -> Reading {
        let store = self.means.store.clone();
        self.means.executor.spawn(async move { store.log(after, end_of(after, through)).await })
    }

    fn take(
        &mut self,
        entry: LogEntry,
        stretch: Stretch,
        witness: &mut dyn Witness,
        summary: &mut Summary,
    ) -> Result<(), AuditError> {
        let is_asked_for = entry.sequence() >= stretch.from;
        let finding = match entry {
            LogEntry::Accepted(record) => self.accepted(&record, is_asked_for, summary)?,
            LogEntry::Updated(record, body) => self.updated(&record, &body, is_asked_for),
            LogEntry::JudgedLate(late) if is_asked_for && self.versions.contains(&late.rule_set_version) => {
                summary.n_verdicts += 1;
                self.judged_late(&late, summary)?
            }
            LogEntry::JudgedLate(_) => None,
        };
        let Some(finding) = finding else { return Ok(()) };
        match finding.what {
            Remark::Differs(_) => summary.n_differing += 1,
            Remark::TakenOver(_) => summary.n_taken_over += 1,
            Remark::NotDerived(_) => summary.n_not_derived += 1,
        }
        witness.hears(finding);
        Ok(())
    }

    fn accepted(
        &mut self,
        record: &TransactionRecord,
        is_asked_for: bool,
        summary: &mut Summary,
    ) -> Result<Option<Finding>, AuditError> {
        let sequence = record.sequence;
        let place = Place {
            sequence,
            transaction_id: Arc::clone(&record.transaction_id),
            rule_set_version: record.rule_set_version,
        };
        let transaction = match Transaction::from_stored(&record.body) {
            Ok(transaction) => Arc::new(transaction),
            Err(error) if self.counts_all && is_asked_for => {
                summary.n_verdicts += u64::from(record.assessment.is_some());
                return Ok(Some(place.unreadable(&error)));
            }
            Err(_) => return Ok(None),
        };
        let is_ours = is_asked_for && self.versions.contains(&record.rule_set_version);
        let finding = match &record.assessment {
            Some(stored) if is_ours => {
                summary.n_verdicts += 1;
                let odd = self.oddities(record, &transaction);
                let verdict = Verdict { version: record.rule_set_version, as_of: sequence, stored };
                let remark = self.judge(&transaction, verdict, summary)?;
                remark_of(odd, remark).map(|what| Finding { place, what })
            }
            Some(_) => None,
            None => {
                summary.n_unjudged += u64::from(is_asked_for && self.counts_all);
                None
            }
        };
        if record.assessment.is_some() {
            self.latest_version = self.latest_version.max(record.rule_set_version);
        }
        self.feed(PastItem::Accepted { sequence, transaction: &transaction });
        Ok(finding)
    }

    /// What of the row contradicts the rest of it, or what came before.
    fn oddities(&self, record: &TransactionRecord, transaction: &Transaction) -> Vec<Difference> {
        let of_body = &*transaction.transaction_id;
        let micros = transaction.timestamp.micros();
        let odd = [
            (&*record.transaction_id != of_body)
                .then(|| Difference::new("row of transaction_id", &record.transaction_id, of_body)),
            (record.event_micros != micros)
                .then(|| Difference::new("row of created_at", record.event_micros, micros)),
            (record.rule_set_version < self.latest_version).then(|| {
                let later = format!("at least {}, which judged before it", self.latest_version);
                Difference::new("order of versions", record.rule_set_version, later)
            }),
        ];
        odd.into_iter().flatten().collect()
    }

    fn updated(&mut self, update: &StatusUpdateRecord, body: &str, is_asked_for: bool) -> Option<Finding> {
        let StatusUpdateRecord { sequence, target, .. } = *update;
        match Transaction::from_stored(body) {
            Ok(accepted) => {
                let before = &accepted.with_status(update.before.as_deref());
                let after = &accepted.with_status(Some(&update.after));
                self.feed(PastItem::Updated { sequence, target, before, after });
                None
            }
            Err(error) => (self.counts_all && is_asked_for).then(|| {
                let transaction_id = format!("the one with number {target}").into();
                Place { sequence, transaction_id, rule_set_version: 0 }.unreadable(&error)
            }),
        }
    }

    fn judged_late(
        &mut self,
        late: &LateVerdictRecord,
        summary: &mut Summary,
    ) -> Result<Option<Finding>, AuditError> {
        let LateVerdictRecord { sequence, target, rule_set_version, verdict } = late;
        let place = |transaction_id| Place {
            sequence: *sequence,
            transaction_id,
            rule_set_version: *rule_set_version,
        };
        let transaction = match Transaction::from_stored(&verdict.body) {
            Ok(transaction) => Arc::new(transaction),
            Err(error) => {
                return Ok(Some(place(format!("the one with number {target}").into()).unreadable(&error)));
            }
        };
        let stored = &verdict.assessment;
        let verdict = Verdict { version: *rule_set_version, as_of: *target, stored };
        let remark = self.judge(&transaction, verdict, summary)?;
        Ok(remark.map(|what| Finding { place: place(Arc::clone(&transaction.transaction_id)), what }))
    }

    fn judge(
        &mut self,
        transaction: &Arc<Transaction>,
        Verdict { version, as_of, stored }: Verdict<'_>,
        summary: &mut Summary,
    ) -> Result<Option<Remark>, AuditError> {
        let made = match self.editions.edition(self.means, &self.history, version)? {
            Edition::Whole(made) => made,
            Edition::Broken(why) => {
                let why = format!("it cannot be made again: {why}");
                return Ok(Some(Remark::Differs(vec![Difference::new("rule_set_version", version, why)])));
            }
        };
        summary.n_by_another_service += u64::from(made.is_by_another_service);
        summary.n_on_assumed_terms += u64::from(made.has_assumed_terms);
        let outcomes = self.outcomes(&made.rule_set, transaction, as_of);
        Ok(compare(&made.rule_set, &transaction.transaction_id, &outcomes, stored))
    }

    /// What the rules say. A busy machine may stop one early: then all are asked again.
    fn outcomes(
        &mut self,
        rule_set: &Arc<RuleSet>,
        transaction: &Arc<Transaction>,
        as_of: Sequence,
    ) -> Outcomes {
        let mut outcomes = self.evaluator.evaluate(rule_set, transaction, as_of);
        for _ in 1..ATTEMPTS_MAX {
            let died = |outcome: &Outcome| matches!(outcome, Outcome::Failed(how) if is_of_the_moment(*how));
            if !outcomes.told().any(|(_, outcome)| died(outcome)) {
                break;
            }
            outcomes = self.evaluator.evaluate(rule_set, transaction, as_of);
        }
        outcomes
    }

    /// Lets the history know. A number that was given twice was given by nobody of ours.
    fn feed(&mut self, item: PastItem<'_>) {
        if item.sequence() > self.fed {
            self.fed = item.sequence();
            self.history.restore_item(item);
        }
    }
}

/// Both as one.
fn remark_of(mut odd: Vec<Difference>, remark: Option<Remark>) -> Option<Remark> {
    match remark {
        Some(Remark::Differs(differences)) => {
            odd.extend(differences);
            Some(Remark::Differs(odd))
        }
        remark if odd.is_empty() => remark,
        _ => Some(Remark::Differs(odd)),
    }
}

fn end_of(after: Sequence, through: Sequence) -> Sequence {
    Sequence(after.0.saturating_add(BATCH)).min(through)
}

impl Place {
    fn unreadable(self, error: &dyn std::fmt::Display) -> Finding {
        let differs = Difference::new("body", "", format!("it cannot be read: {error}"));
        Finding { place: self, what: Remark::Differs(vec![differs]) }
    }
}

impl Difference {
    fn new(what: &'static str, stored: impl ToString, derived: impl ToString) -> Self {
        Self { what, stored: stored.to_string(), derived: derived.to_string() }
    }
}
