//! Deferred verdicts: on transactions that were stored before a verdict was requested.
//!
//! The transaction keeps its sequence number: the verdict counts only what was accepted before it. Each
//! of many such transactions thus sees those before it, whether the ledger or the caller came first. The verdict has
//! its own sequence number and is committed in that order, so it sees exactly the status updates with lower numbers.

use std::sync::Arc;

use tokio::sync::oneshot;
use tollgate_engine::evaluation::{Evaluated, EvaluationJob};
use tollgate_model::transaction::{Fingerprint, JsonNumber, Transaction, compare_report};
use tollgate_store::{CurrentRecord, DeferredVerdict, DeferredVerdictRecord};

use crate::monitor::admitted::Admitted;
use crate::monitor::group::{Caller, CommitWaiter, NumberedRecord};
use crate::monitor::reported::{AmountPrecision, ReportOutcome, ReportedChange, accepted_of};
use crate::monitor::sequence_slot::SequenceSlot;
use crate::monitor::{MonitorAnswer, MonitorError, TransactionPipeline};

impl TransactionPipeline {
    /// Answers a transaction that is stored without a verdict. The more advanced of the stored and the new status wins.
    pub(super) async fn judge_unjudged(
        self: Arc<Self>,
        known: CurrentRecord,
        transaction: Arc<Transaction>,
        (event, precision): (Arc<str>, AmountPrecision),
        waiting: CommitWaiter,
    ) {
        let (reported, changed) = (transaction.status.clone(), transaction.changed());
        let fingerprint = waiting.pending_entry.fingerprint();
        let compared = self.compare_unjudged(&known, &transaction, precision);
        let judged = match compared {
            Ok(amount) => {
                let transaction = self.with_stored_amount(&known, transaction, precision);
                let judging = Arc::clone(&self).judge_deferred(&known, transaction, fingerprint);
                judging.await.map(|it| (it, amount))
            }
            Err(error) => Err(error),
        };
        let answer = match judged {
            Ok((assessment, amount)) => {
                let change = ReportedChange { status: reported.as_deref(), changed, amount };
                let outcome = match accepted_of(&known) {
                    Ok(accepted) => self.outcome_of(&known, accepted, change).await,
                    Err(error) => Err(error),
                };
                match outcome {
                    Ok(ReportOutcome { change: Some(change), reported_statuses, .. }) => {
                        return self.update(change, reported_statuses, assessment, event, waiting);
                    }
                    Ok(unchanged) => {
                        self.store_reported_statuses(&known, unchanged, &event).await.map(|()| assessment)
                    }
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        waiting.pending_entry.settle(answer).ok();
    }

    /// Returns the status change that came with a deferred verdict and is still missing. The verdict is durable first,
    /// so a failure between the two must not make a retry report success.
    pub(super) async fn left_behind(
        &self,
        known: &CurrentRecord,
        transaction: &Transaction,
    ) -> Result<ReportOutcome, MonitorError> {
        if known.late.is_none() {
            return Ok(ReportOutcome { change: None, reported_statuses: None, without_effect: None });
        }
        let (reported, changed) = (transaction.status.as_deref(), transaction.changed());
        let change = ReportedChange { status: reported, changed, amount: None };
        let outcome = self.outcome_of(known, accepted_of(known)?, change).await?;
        if outcome.change.is_some() {
            self.readiness()?;
        }
        Ok(outcome)
    }

    /// Compares a request or report with a transaction without a verdict. Returns a new amount.
    pub(super) fn compare_unjudged(
        &self,
        known: &CurrentRecord,
        transaction: &Transaction,
        precision: AmountPrecision,
    ) -> Result<Option<JsonNumber>, MonitorError> {
        let (accepted, amounts) = (accepted_of(known)?, self.deps.amounts);
        let compared = match precision {
            AmountPrecision::Sent => transaction.disagreement_with(&accepted, amounts).map_or(Ok(None), Err),
            _ => {
                let terms = self.amount_terms(precision == AmountPrecision::Exact);
                compare_report(transaction, &accepted, known.amount.as_ref(), terms)
            }
        };
        compared.map_err(|field| MonitorError::Conflict(field.into()))
    }

    /// Returns the transaction with the stored amount, if its own is that amount with fewer digits. The verdict is then on what
    /// the ledger moved, and an answer shows that.
    fn with_stored_amount(
        &self,
        known: &CurrentRecord,
        transaction: Arc<Transaction>,
        precision: AmountPrecision,
    ) -> Arc<Transaction> {
        let Ok(accepted) = accepted_of(known) else { return transaction };
        let reported = transaction.amount.value();
        let is_rounded = |stored: &&JsonNumber| {
            let stored = stored.value();
            precision != AmountPrecision::Exact
                && reported != stored
                && self.deps.amounts.holds(reported, stored)
        };
        match known.amount.iter().chain([&accepted.amount]).find(is_rounded) {
            Some(stored) => Arc::new(Transaction::clone(&transaction).with_amount(stored)),
            None => transaction,
        }
    }

    /// Judges the transaction as of its sequence number, and returns when the verdict is durable.
    async fn judge_deferred(
        self: Arc<Self>,
        known: &CurrentRecord,
        mut transaction: Arc<Transaction>,
        fingerprint: Fingerprint,
    ) -> MonitorAnswer {
        let accepted = accepted_of(known)?;
        self.readiness()?;
        if transaction.timestamp.is_set_on_arrival() {
            Arc::make_mut(&mut transaction).timestamp = accepted.timestamp;
        }
        self.settle_holds().await?;
        transaction.read_long_texts();
        let evaluating = self.gate.evaluate().await;
        let slot =
            self.deps.history.take_place(|sequence| SequenceSlot::new(sequence, self.committer.clone()));
        let admitted = Admitted {
            sequence: known.record.sequence,
            arrival: self.deps.clock.now(),
            transaction,
            rule_set: self.deps.registry.current(),
        };
        let (task, answer) = oneshot::channel();
        let (rule_set, transaction) = (Arc::clone(&admitted.rule_set), Arc::clone(&admitted.transaction));
        let (as_of, pipeline) = (admitted.sequence, Arc::clone(&self));
        let done = Box::new(move |evaluated: Evaluated| {
            drop(evaluating);
            let assessment = pipeline.assess(&admitted, &evaluated);
            match serde_json::to_string(&assessment) {
                Ok(text) => {
                    let body = admitted.transaction.to_stored();
                    let answer = text.as_str().into();
                    let conclusion = pipeline.conclude(&admitted, &assessment, evaluated.duration);
                    let record = DeferredVerdictRecord {
                        sequence: slot.sequence(),
                        target: admitted.sequence,
                        rule_set_version: admitted.rule_set.version,
                        verdict: DeferredVerdict { fingerprint, body, assessment: text },
                    };
                    let record = NumberedRecord::Deferred(record);
                    slot.fill(conclusion.commit(record, Caller::Task(task), answer));
                }
                // Dropping `slot` takes the number back.
                Err(error) => tracing::error!(error = %error, "an assessment cannot be serialized"),
            }
        });
        self.deps.pool.submit(EvaluationJob { rule_set, transaction, as_of, done });
        answer.await.unwrap_or(Err(MonitorError::Unavailable))
    }
}
