//! A verdict on a transaction that a ledger fed before anybody asked for one.
//!
//! It keeps the place that the feed gave it: the verdict counts what was accepted before that place and nothing behind it,
//! so of many in a row each sees exactly those before it, whoever came first, the ledger or the caller. The verdict has a
//! number of its own, so that it has seen exactly the status updates with lower ones, and is committed behind them.

use std::sync::Arc;

use tokio::sync::oneshot;
use tollgate_engine::evaluation::{Evaluated, Job};
use tollgate_model::transaction::{Fingerprint, Transaction};
use tollgate_store::{CurrentRecord, LateVerdict, LateVerdictRecord};

use crate::monitor::group::{Announcement, Commit, Counted, Waiting};
use crate::monitor::place::Place;
use crate::monitor::reported::{Heard, accepted_of};
use crate::monitor::{Admitted, Answer, MonitorError, River};

impl River {
    /// Brings one that is known, and that nobody judged, to its answer; of its status and the one that is brought, the
    /// further stands.
    pub(super) async fn carry_unjudged(
        self: Arc<Self>,
        known: CurrentRecord,
        transaction: Arc<Transaction>,
        event: Arc<str>,
        waiting: Waiting,
    ) {
        let (told, changed) = (transaction.status.clone(), transaction.changed());
        let judged = Arc::clone(&self).judge_late(&known, transaction, waiting.ticket.fingerprint()).await;
        let answer = match judged {
            Ok(assessment) => {
                match accepted_of(&known).map(|it| Heard::of(&known, it, told.as_deref(), changed)) {
                    Ok(Heard { change: Some(change), standing }) => {
                        return self.update(change, standing, assessment, event, waiting);
                    }
                    Ok(Heard { change: None, standing }) => {
                        self.keep_standing(&known, standing).await.map(|()| assessment)
                    }
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        waiting.ticket.settle(answer).ok();
    }

    /// What the status that came with a late verdict has to change still: the verdict is durable first, and whoever asks
    /// again after a failure between the two must not hear that all is done.
    pub(super) fn left_behind(
        &self,
        known: &CurrentRecord,
        transaction: &Transaction,
    ) -> Result<Heard, MonitorError> {
        if known.late.is_none() {
            return Ok(Heard { change: None, standing: None });
        }
        let (told, changed) = (transaction.status.as_deref(), transaction.changed());
        let heard = Heard::of(known, accepted_of(known)?, told, changed);
        if heard.change.is_some() {
            self.readiness()?;
        }
        Ok(heard)
    }

    /// Judges it in its place, and returns when that is durable.
    async fn judge_late(
        self: Arc<Self>,
        known: &CurrentRecord,
        mut transaction: Arc<Transaction>,
        fingerprint: Fingerprint,
    ) -> Answer {
        let accepted = accepted_of(known)?;
        if let Some(field) = transaction.disagreement_with(&accepted, self.means.amounts) {
            return Err(MonitorError::Conflict(field.into()));
        }
        self.readiness()?;
        if !transaction.timestamp.is_given() {
            Arc::make_mut(&mut transaction).timestamp = accepted.timestamp;
        }
        let evaluating = self.gate.evaluate().await;
        let place = self.means.history.take_place(|sequence| Place::new(sequence, self.committer.clone()));
        let admitted = Admitted {
            sequence: known.record.sequence,
            arrival: self.means.clock.now(),
            transaction,
            rule_set: self.means.registry.current(),
        };
        let (told, answer) = oneshot::channel();
        let (rule_set, transaction) = (Arc::clone(&admitted.rule_set), Arc::clone(&admitted.transaction));
        let (as_of, river) = (admitted.sequence, Arc::clone(&self));
        let done = Box::new(move |evaluated: Evaluated| {
            drop(evaluating);
            let assessment = river.assess(&admitted, &evaluated);
            match serde_json::to_string(&assessment) {
                Ok(text) => {
                    let counted = Counted::of(&assessment, evaluated.duration);
                    let body = admitted.transaction.to_stored();
                    let alert = river.means.alerting.alert(&admitted.transaction, &assessment);
                    let micros = river.means.clock.now().timestamp_micros();
                    let announcement = alert.map(|alert| Announcement { alert, micros });
                    let record = LateVerdictRecord {
                        sequence: place.sequence(),
                        target: admitted.sequence,
                        rule_set_version: admitted.rule_set.version,
                        verdict: LateVerdict { fingerprint, body, assessment: text },
                    };
                    place.fill(Commit::Late { record, counted, announcement, told });
                }
                // The place, dropped, takes the number back.
                Err(error) => tracing::error!(error = %error, "an assessment cannot be written down"),
            }
        });
        self.means.pool.submit(Job { rule_set, transaction, as_of, done });
        answer.await.unwrap_or(Err(MonitorError::Unavailable))
    }
}
