//! A transaction and its verdict in one row.

use std::borrow::Cow;

use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tollgate_guest_abi::VerdictSeverity;
use tollgate_model::transaction::AmountForm;
use tollgate_store::VerdictRecord;
use utoipa::ToSchema;
use utoipa::openapi::Ref;

/// A judged transaction in short.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = VerdictRow)]
pub struct VerdictRow {
    /// Number in the order of acceptance.
    sequence: u64,
    /// Id of the transaction.
    transaction_id: String,
    /// Time at which it was accepted.
    #[schema(value_type = DateTime<Utc>)]
    accepted_at: String,
    /// Amount, with the digits that were sent.
    #[schema(schema_with = amount_schema)]
    amount: Box<RawValue>,
    /// Currency.
    currency: String,
    /// Account that pays.
    #[schema(required = true)]
    source: Option<String>,
    /// Account that is paid.
    #[schema(required = true)]
    destination: Option<String>,
    /// The verdict.
    #[schema(value_type = VerdictSeverity)]
    verdict: String,
    /// Highest score of the rules that matched.
    #[schema(minimum = 0, maximum = 1)]
    score: f64,
    /// Reasons of the rules that matched.
    #[schema(required = true)]
    reason: Option<String>,
    /// Names of the rules that matched, most severe first; of the first 16.
    rules: Vec<String>,
}

/// The schema of amounts, which the API declares.
fn amount_schema() -> Ref {
    Ref::from_schema_name("Amount")
}

#[derive(Deserialize)]
struct StoredFields<'a> {
    #[serde(borrow)]
    amount: &'a RawValue,
    #[serde(borrow)]
    currency: Cow<'a, str>,
    #[serde(borrow, default)]
    source: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    destination: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct AnswerFields<'a> {
    #[serde(borrow)]
    verdict: Cow<'a, str>,
    score: f64,
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    triggered: Vec<MatchedRule<'a>>,
}

#[derive(Deserialize)]
struct MatchedRule<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
}

impl VerdictRow {
    /// Returns the row with its amount in this form.
    #[must_use]
    pub fn with_amount(self, amounts: AmountForm) -> Self {
        let written = RawValue::from_string(amounts.json_of(self.amount.get()));
        Self { amount: written.unwrap_or(self.amount), ..self }
    }

    /// Reads the row of a stored verdict.
    ///
    /// # Errors
    /// When the stored texts are not what the service writes.
    pub fn from_record(record: &VerdictRecord) -> Result<Self, serde_json::Error> {
        let fields: StoredFields<'_> = serde_json::from_str(&record.body)?;
        let answer: AnswerFields<'_> = serde_json::from_str(&record.assessment)?;
        let accepted = DateTime::from_timestamp_micros(record.accepted_micros).unwrap_or_default();
        Ok(Self {
            sequence: record.sequence.0,
            transaction_id: record.transaction_id.to_string(),
            accepted_at: accepted.to_rfc3339_opts(SecondsFormat::Micros, true),
            amount: fields.amount.to_owned(),
            currency: fields.currency.into_owned(),
            source: fields.source.map(Cow::into_owned),
            destination: fields.destination.map(Cow::into_owned),
            verdict: answer.verdict.into_owned(),
            score: answer.score,
            reason: answer.reason.map(Cow::into_owned),
            rules: answer.triggered.into_iter().filter_map(|rule| rule.name.map(Cow::into_owned)).collect(),
        })
    }
}
