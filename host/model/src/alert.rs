//! The alert sent out about an assessment that needs attention.
//!
//! All receivers get the same text: a dashboard at the other end of the tunnel, and webhooks of the operator.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_guest_abi::{Verdict, VerdictSeverity};
use uuid::Uuid;

use crate::assessment::{Assessment, Triggered};
use crate::transaction::{Json, Transaction};

/// The id of an alert, the same in every delivery attempt. It contains no dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertId(Arc<str>);

/// A notification about one verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    /// Id of the alert.
    pub id: AlertId,
    /// Transaction that was assessed.
    pub transaction_id: Arc<str>,
    /// `approve`, `alert`, `review` or `block`.
    pub verdict: Verdict,
    /// Score from 0 to 1.
    pub score: f64,
    /// Message as sent: one JSON object.
    pub payload: Arc<str>,
}

/// The score from which an approved transaction raises an alert too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RiskThreshold(f64);

/// The risk level of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RiskLevel {
    /// Score below 0.3.
    Low,
    /// Score from 0.3 on.
    Medium,
    /// Score from 0.6 on.
    High,
    /// Score from 0.8 on.
    Critical,
}

#[derive(Serialize)]
struct Payload<'a> {
    r#type: &'static str,
    transaction_id: &'a str,
    verdict: Verdict,
    score: f64,
    risk_level: RiskLevel,
    reason: &'a str,
    triggered_rules: &'a [Triggered],
    amount: Box<RawValue>,
    currency: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination: Option<&'a str>,
    reference: Option<&'a str>,
    created_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meta_data: Option<&'a Json>,
    timestamp: &'a str,
}

impl Alert {
    /// Creates the alert about an assessment, or returns `None` if it does not reach the threshold.
    ///
    /// # Errors
    /// If it cannot be serialized as JSON, which would be a bug.
    pub fn from_assessment(
        transaction: &Transaction,
        assessment: &Assessment,
        threshold: RiskThreshold,
    ) -> Result<Option<Self>, serde_json::Error> {
        if !threshold.is_reached(assessment) {
            return Ok(None);
        }
        let payload = Payload {
            r#type: "anomaly",
            transaction_id: &assessment.transaction_id,
            verdict: assessment.verdict,
            score: assessment.score,
            risk_level: RiskLevel::of_score(assessment.score),
            reason: &assessment.reason,
            triggered_rules: &assessment.triggered,
            // Keeps the digits as received.
            amount: RawValue::from_string(Json::Number(transaction.amount.clone()).to_string())?,
            currency: Some(&transaction.currency),
            source: transaction.source.as_deref(),
            destination: transaction.destination.as_deref(),
            reference: Some(&transaction.reference),
            created_at: Some(transaction.timestamp.as_str()),
            meta_data: transaction.metadata.as_ref(),
            timestamp: &assessment.evaluated_at,
        };
        Ok(Some(Self {
            id: AlertId::new(),
            transaction_id: Arc::clone(&transaction.transaction_id),
            verdict: assessment.verdict,
            score: assessment.score,
            payload: serde_json::to_string(&payload)?.into(),
        }))
    }
}

/// An entry of a ledger that cannot be read as a payment.
#[derive(Debug, Clone, Copy)]
pub struct UnreadableEntry<'a> {
    /// Id of the entry, as far as it can be read.
    pub transaction_id: &'a str,
    /// Its time, as far as it can be read.
    pub created_at: &'a str,
    /// Why it cannot be read, for people.
    pub reason: &'a str,
    /// When it arrived.
    pub timestamp: DateTime<Utc>,
}

impl Alert {
    /// Creates the alert about an entry that got no verdict.
    ///
    /// # Errors
    /// If it cannot be serialized as JSON, which would be a bug.
    pub fn of_unreadable(entry: UnreadableEntry<'_>, verdict: Verdict) -> Result<Self, serde_json::Error> {
        let UnreadableEntry { transaction_id, created_at, reason, timestamp } = entry;
        let payload = Payload {
            r#type: "anomaly",
            transaction_id,
            verdict,
            score: 0.0,
            risk_level: RiskLevel::of_score(0.0),
            reason,
            triggered_rules: &[],
            amount: RawValue::from_string("null".to_owned())?,
            currency: None,
            source: None,
            destination: None,
            reference: None,
            created_at: Some(created_at).filter(|time| !time.is_empty()),
            meta_data: None,
            timestamp: &timestamp.to_rfc3339_opts(SecondsFormat::Micros, true),
        };
        Ok(Self {
            id: AlertId::new(),
            transaction_id: transaction_id.into(),
            verdict,
            score: 0.0,
            payload: serde_json::to_string(&payload)?.into(),
        })
    }
}

impl AlertId {
    fn new() -> Self {
        Self(format!("alert_{}", Uuid::now_v7().simple()).into())
    }

    /// Restores an id from storage.
    #[must_use]
    pub fn from_stored(id: &str) -> Self {
        Self(id.into())
    }

    /// Returns the id as sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AlertId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RiskThreshold {
    /// Creates a threshold, or returns `None` if the score is not between 0 and 1.
    #[must_use]
    pub fn new(score: f64) -> Option<Self> {
        (0.0..=1.0).contains(&score).then_some(Self(score))
    }

    fn is_reached(self, assessment: &Assessment) -> bool {
        assessment.verdict.severity() > VerdictSeverity::Approve || assessment.score >= self.0
    }
}

impl Default for RiskThreshold {
    fn default() -> Self {
        Self(0.5)
    }
}

impl RiskLevel {
    /// Returns the level of a score.
    #[must_use]
    pub fn of_score(score: f64) -> Self {
        match score {
            score if score >= 0.8 => Self::Critical,
            score if score >= 0.6 => Self::High,
            score if score >= 0.3 => Self::Medium,
            _ => Self::Low,
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use tollgate_guest_abi::{RuleEntry, Semantics};

    use super::*;
    use crate::assessment::RuleOutcome;
    use crate::instruction::InstructionId;

    fn alert(verdict: Verdict, score: f64, threshold: f64) -> Option<Alert> {
        let body =
            br#"{"transaction_id": "t", "amount": 1.10, "currency": "EUR", "source": "s", "reference": "r",
            "created_at": "2026-01-02T03:04:05Z", "meta_data": {"n": 1.10}}"#;
        let (transaction, _) = Transaction::parse(body, DateTime::UNIX_EPOCH).unwrap();
        let entry = RuleEntry { name: "rule".into(), description: None, verdict, score, reason: "so".into() };
        let outcomes = [(InstructionId(7), &entry, RuleOutcome::Matched)].into_iter();
        let assessment =
            Assessment::consolidate("t", (3, Semantics::CURRENT), DateTime::UNIX_EPOCH, outcomes);
        Alert::from_assessment(&transaction, &assessment, RiskThreshold::new(threshold).unwrap()).unwrap()
    }

    #[test]
    fn every_verdict_but_approve_and_every_high_score_is_an_alert() {
        for (verdict, score, is_alert) in [
            (Verdict::Approve, 0.49, false),
            (Verdict::Allow, 0.5, true),
            (Verdict::Approve, 0.9, true),
            (Verdict::Alert, 0.0, true),
            (Verdict::Review, 0.1, true),
            (Verdict::Block, 0.0, true),
            (Verdict::Deny, 0.0, true),
        ] {
            assert_eq!(alert(verdict, score, 0.5).is_some(), is_alert, "{verdict:?} {score}");
        }
        assert!(alert(Verdict::Approve, 0.99, 1.0).is_none());
        for none in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(RiskThreshold::new(none).is_none());
        }
    }

    #[test]
    fn the_payload_is_what_the_documentation_says() {
        let alert = alert(Verdict::Deny, 0.7, 0.5).unwrap();
        assert_eq!(
            &*alert.payload,
            concat!(
                r#"{"type":"anomaly","transaction_id":"t","verdict":"block","score":0.7,"risk_level":"high","#,
                r#""reason":"so","triggered_rules":[{"instruction_id":7,"name":"rule","verdict":"deny","#,
                r#""score":0.7,"reason":"so"}],"amount":1.10,"currency":"EUR","source":"s","reference":"r","#,
                r#""created_at":"2026-01-02T03:04:05Z","meta_data":{"n":1.10},"#,
                r#""timestamp":"1970-01-01T00:00:00.000000Z"}"#
            )
        );
        assert!(alert.id.as_str().starts_with("alert_") && !alert.id.as_str().contains('.'));
    }

    #[test]
    fn a_level_begins_where_it_says() {
        let levels = [0.0, 0.29, 0.3, 0.59, 0.6, 0.79, 0.8, 1.0].map(RiskLevel::of_score);
        use RiskLevel::{Critical, High, Low, Medium};
        assert_eq!(levels, [Low, Low, Medium, Medium, High, High, Critical, Critical]);
    }
}
