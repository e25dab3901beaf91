//! `GET /transactions/{transaction_id}`

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tollgate_guest_abi::VerdictSeverity;
use tollgate_model::assessment::{FailedRule, Triggered};
use tollgate_model::transaction::{AmountForm, Json, Transaction};
use tollgate_store::StatusWithoutEffect;
use utoipa::ToSchema;

use crate::accept::AcceptedAmounts;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::quoted::quoted;
use crate::{ApiState, openapi::schema};
use tollgate_pipeline::monitor::Judged;

pub(crate) const ERRORS: &[ErrorCode] = &[ErrorCode::TransactionNotFound, ErrorCode::Unavailable];

/// Returns a transaction and its verdict.
///
/// A transaction that was stored without a verdict has none unless one was requested. With
/// `Accept: application/json; decimals=string`, amounts are texts.
#[utoipa::path(
    get, path = "/transactions/{transaction_id}", tag = "Transactions",
    params(("transaction_id" = String, Path, description = "Unique transaction id, compared byte by byte")),
    responses((status = 200, description = "The transaction and its verdict.", body = schema::StoredTransaction))
)]
pub(crate) async fn get_transaction(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
    AcceptedAmounts(amounts): AcceptedAmounts,
) -> Result<Response, ApiError> {
    let unreadable =
        |_| ApiError::new(ErrorCode::TransactionNotFound, "there is no transaction with this id");
    let Path(id) = id.map_err(unreadable)?;
    let judged = api.payments.find(&id).await?.ok_or_else(|| {
        ApiError::new(ErrorCode::TransactionNotFound, format!("there is no transaction {}", quoted(&id)))
    })?;
    let latest = api.payments.latest_description(&judged.transaction.transaction_id).await?;
    let latest = latest.map(|latest| with_amount(&latest, amounts).unwrap_or(latest));
    let without_effect = api.payments.without_effect(&judged).await?;
    let body = stored_transaction(&judged, amounts, latest.as_deref(), without_effect)
        .map_err(|error| ApiError::internal(&error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "application/json"), (header::VARY, "accept")], body).into_response())
}

/// The verdict of a stored transaction. All members are present, or none if it was stored without a verdict and none was
/// requested.
#[derive(Deserialize, Serialize, ToSchema)]
#[schema(as = StoredEvaluation)]
pub(crate) struct StoredEvaluation<'a> {
    /// The most severe verdict of the rules that matched; at least `review` if a rule failed.
    #[serde(borrow)]
    #[schema(value_type = Option<VerdictSeverity>)]
    verdict: &'a RawValue,
    /// The highest score of the rules that matched; 0 if none matched.
    #[serde(borrow)]
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 1)]
    score: &'a RawValue,
    /// Reasons of the rules that matched, most severe rule first, then a note for each failed rule.
    #[serde(borrow)]
    #[schema(value_type = Option<String>)]
    reason: &'a RawValue,
    /// The rules that matched, most severe first.
    #[serde(borrow)]
    #[schema(value_type = Option<Vec<Triggered>>)]
    triggered: &'a RawValue,
    /// The rules that failed.
    #[serde(borrow)]
    #[schema(value_type = Option<Vec<FailedRule>>)]
    failures: &'a RawValue,
    /// Version of the rule set that was applied.
    #[serde(borrow)]
    #[schema(value_type = Option<u64>)]
    rule_set_version: &'a RawValue,
    /// Time of the evaluation.
    #[serde(borrow)]
    #[schema(value_type = Option<DateTime<Utc>>)]
    evaluated_at: &'a RawValue,
}

/// A status that a ledger reported and that did not stand.
#[derive(Serialize, ToSchema)]
pub(crate) struct IneffectiveStatus {
    /// The reported status.
    #[schema(value_type = String)]
    status: Arc<str>,
    /// Name of the event.
    #[schema(value_type = String)]
    event: Arc<str>,
    /// Time of the first report.
    accepted_at: DateTime<Utc>,
}

impl IneffectiveStatus {
    fn from_reported(reported: StatusWithoutEffect) -> Self {
        let StatusWithoutEffect { status, event, accepted_micros, .. } = reported;
        Self {
            status,
            event,
            accepted_at: DateTime::from_timestamp_micros(accepted_micros).unwrap_or_default(),
        }
    }
}

/// Combines all into one object as text, so that no digit or byte of either changes.
fn stored_transaction(
    judged: &Judged,
    amounts: AmountForm,
    latest: Option<&str>,
    without_effect: Vec<StatusWithoutEffect>,
) -> Result<String, serde_json::Error> {
    let mut body = fields(&judged.transaction, amounts);
    if let Some(latest) = latest {
        // Writing to a string cannot fail.
        let _ = write!(body, ",\"latest_description\":{latest}");
    }
    if !without_effect.is_empty() {
        let shown: Vec<_> = without_effect.into_iter().map(IneffectiveStatus::from_reported).collect();
        let _ = write!(body, ",\"without_effect\":{}", serde_json::to_string(&shown)?);
    }
    let Some(assessment) = &judged.assessment else {
        body.push('}');
        return Ok(body);
    };
    let evaluation: StoredEvaluation<'_> = serde_json::from_str(assessment)?;
    for (name, value) in [
        ("verdict", evaluation.verdict),
        ("score", evaluation.score),
        ("reason", evaluation.reason),
        ("triggered", evaluation.triggered),
        ("failures", evaluation.failures),
        ("rule_set_version", evaluation.rule_set_version),
        ("evaluated_at", evaluation.evaluated_at),
    ] {
        let _ = write!(body, ",\"{name}\":{value}");
    }
    body.push('}');
    Ok(body)
}

/// Returns the object of a transaction without its closing brace. It is never empty: an amount is always present.
fn fields(transaction: &Transaction, amounts: AmountForm) -> String {
    let mut object = transaction.to_wire_with(amounts);
    object.pop();
    object
}

/// Returns the object of a transaction, as the service stored it, with the amount in this form; `None` if it is none, or
/// stays as it is.
fn with_amount(written: &str, amounts: AmountForm) -> Option<String> {
    let Json::Object(mut members) = (amounts == AmountForm::Text).then(|| Json::reread(written))?? else {
        return None;
    };
    let (_, amount) = members.iter_mut().find(|(name, _)| **name == *"amount")?;
    if let Json::Number(number) = amount {
        *amount = Json::Text(number.plain().into());
    }
    Some(Json::Object(members).to_string())
}

#[cfg(test)]
mod tests {
    use tollgate_model::sequence::Sequence;
    use tollgate_store::TransactionOrigin;

    use super::*;

    #[test]
    fn a_stored_transaction_is_its_own_fields_and_the_assessment_unchanged() {
        let sent = br#"{"transaction_id": "t", "amount": 1.10, "currency": "EUR", "reference": "r", "verdict": "mine",
            "created_at": "2026-01-02T03:04:05Z", "meta_data": {"verdict": "mine too"}}"#;
        let assessment = concat!(
            r#"{"transaction_id":"t","verdict":"review","score":0.30000000000000004,"reason":"a \u0022b\u0022","#,
            r#""triggered":[{"instruction_id":3}],"failures":[],"rule_set_version":18446744073709551615,"#,
            r#""evaluated_at":"2026-01-02T03:04:06.000001Z"}"#
        );
        let transaction = Transaction::parse(sent, DateTime::default()).unwrap().0;
        let assessment = Some(assessment.into());
        let judged =
            Judged { transaction, assessment, sequence: Sequence(1), origin: TransactionOrigin::Request };
        assert_eq!(
            stored_transaction(&judged, AmountForm::Number, None, Vec::new()).unwrap(),
            concat!(
                r#"{"transaction_id":"t","amount":1.10,"currency":"EUR","reference":"r","allow_overdraft":false,"#,
                r#""inflight":false,"skip_queue":false,"atomic":false,"created_at":"2026-01-02T03:04:05Z","#,
                r#""meta_data":{"verdict":"mine too"},"verdict":"review","score":0.30000000000000004,"#,
                r#""reason":"a \u0022b\u0022","triggered":[{"instruction_id":3}],"failures":[],"#,
                r#""rule_set_version":18446744073709551615,"evaluated_at":"2026-01-02T03:04:06.000001Z"}"#
            )
        );
    }

    #[test]
    fn the_amount_of_the_latest_description_is_a_text_where_asked() {
        let written = r#"{"transaction_id":"t","amount":1.10,"meta_data":{"amount":2}}"#;
        let expected = r#"{"transaction_id":"t","amount":"1.10","meta_data":{"amount":2}}"#;
        assert_eq!(with_amount(written, AmountForm::Text).as_deref(), Some(expected));
        assert_eq!(with_amount(written, AmountForm::Number), None);
    }
}
