//! A transaction that has its number: what its evaluation makes of it.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tollgate_engine::evaluation::Evaluated;
use tollgate_engine::registry::RuleSet;
use tollgate_model::assessment::{Assessment, RuleOutcome};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{Fingerprint, Transaction};
use tollgate_store::{TransactionOrigin, TransactionRecord};

use crate::monitor::group::{
    Announcement, Caller, Commit, CommitCompletion, EvaluationFigures, NumberedRecord,
};
use crate::monitor::{TransactionPipeline, failures};

/// A transaction with a sequence number, on its way through the pool.
pub(super) struct Admitted {
    pub(super) sequence: Sequence,
    pub(super) arrival: DateTime<Utc>,
    pub(super) transaction: Arc<Transaction>,
    pub(super) rule_set: Arc<RuleSet>,
}

impl Admitted {
    pub(super) fn record(
        &self,
        assessment: &Assessment,
        fingerprint: Fingerprint,
        origin: TransactionOrigin,
    ) -> Result<TransactionRecord, serde_json::Error> {
        Ok(TransactionRecord {
            sequence: self.sequence,
            transaction_id: Arc::clone(&self.transaction.transaction_id),
            fingerprint,
            event_micros: self.transaction.timestamp.micros(),
            accepted_micros: self.arrival.timestamp_micros(),
            rule_set_version: self.rule_set.version,
            body: self.transaction.to_stored(),
            assessment: Some(serde_json::to_string(assessment)?),
            origin,
        })
    }
}

/// The alert and the figures of a verdict, announced and counted once it is durable.
pub(super) struct Conclusion {
    announcement: Option<Announcement>,
    evaluation: EvaluationFigures,
}

impl Conclusion {
    /// Returns the commit of the verdict, with the recipient of its answer.
    pub(super) fn commit(self, record: NumberedRecord, caller: Caller, answer: Arc<str>) -> Commit {
        let completion = CommitCompletion { caller, answer, evaluation: Some(self.evaluation) };
        Commit { record, announcement: self.announcement, completion }
    }
}

impl TransactionPipeline {
    /// Returns what follows from a verdict, whose evaluation took this long.
    pub(super) fn conclude(
        &self,
        admitted: &Admitted,
        assessment: &Assessment,
        duration: Duration,
    ) -> Conclusion {
        let alert = self.deps.alerting.alert(&admitted.transaction, assessment);
        let micros = self.deps.clock.now().timestamp_micros();
        let announcement = alert.map(|alert| Announcement { alert, micros });
        Conclusion { announcement, evaluation: EvaluationFigures::new(assessment, duration) }
    }

    /// Consolidates the outcomes of all rules into the verdict.
    pub(super) fn assess(&self, admitted: &Admitted, evaluated: &Evaluated) -> Assessment {
        let Admitted { sequence, transaction, rule_set, .. } = admitted;
        self.deps.breakers.note_evaluated(rule_set, evaluated, (transaction, *sequence));
        if evaluated.n_bodies_failed > 0 {
            self.deps.metrics.bodies_failed(evaluated.n_bodies_failed);
        }
        let outcomes = evaluated.outcomes.noted().filter_map(|(rule_index, outcome)| {
            let rule = &rule_set.rules.get(rule_index)?.rule;
            rule.outcomes.count(outcome, *sequence);
            if let RuleOutcome::Failed(failure) = *outcome {
                failures::note(rule, failure, rule_index, evaluated, (transaction, *sequence));
            }
            Some((rule.instruction.record.id, &rule.instruction.entry, outcome.clone()))
        });
        let (now, version) = (self.deps.clock.now(), (rule_set.version, rule_set.semantics));
        Assessment::consolidate(&transaction.transaction_id, version, now, outcomes)
            .with_left_out(transaction.left_out.as_deref())
            .held_for(rule_set.holds.reasons)
    }
}
