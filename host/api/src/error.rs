//! The error object, and the mapping of internal errors to error codes.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tollgate_compiler::{Diagnostic, headline};
use tollgate_engine::sandbox::AdmissionFinding;
use tollgate_git::GitError;
use tollgate_history::QueryEstimate;
use tollgate_links::signature::SignatureError;
use tollgate_model::transaction::{InvalidTransaction, JsonError, JsonErrorKind};
use tollgate_store::StoreError;
use utoipa::ToSchema;

use super::error_code::ErrorCode;
use crate::instructions::view::EstimateView;
use tollgate_ledger::event::EventError;
use tollgate_ledger::payments::PaymentError;
use tollgate_pipeline::alerting::ReplayError;
use tollgate_pipeline::monitor::MonitorError;
use tollgate_rules::git_sync::GitSyncError;
use tollgate_rules::intake::IntakeError;
use tollgate_rules::replay::{AuditError, SingleError};
use tollgate_telemetry::logs::ErrorChain;

/// Value of `Retry-After`, in seconds, for refusals due to load.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// Authentication scheme that a ledger must use.
const SIGNED: HeaderValue = HeaderValue::from_static("Webhook-Signature");

/// An error response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiError {
    code: ErrorCode,
    message: Cow<'static, str>,
    field: Option<String>,
    detail: ErrorDetail,
}

/// Additional data of some errors.
#[derive(Debug, Clone, PartialEq)]
enum ErrorDetail {
    Nothing,
    Diagnostics(Vec<Diagnostic>),
    Checks(Vec<AdmissionFinding>),
    Missing(Vec<String>),
    Estimate(QueryEstimate),
    /// The id of the other transaction with a hash.
    Other(Arc<str>),
    /// Time after which the request may succeed.
    Wait(Duration),
}

/// The body of every error response.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub(super) struct ErrorBody<'a> {
    /// Message for people: one line, in which quoted input is escaped and truncated.
    error: &'a str,
    /// Stable error code for programs.
    #[schema(example = "missing_field")]
    code: &'a str,
    /// The invalid field, or the path of a value below it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    field: Option<&'a str>,
    /// All diagnostics in the order of the script; only with `compile_error`.
    #[serde(skip_serializing_if = "<[Diagnostic]>::is_empty")]
    #[schema(value_type = Option<Vec<Diagnostic>>, nullable = false)]
    diagnostics: &'a [Diagnostic],
    /// All checks that the module failed; only with `module_refused`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Option<Vec<FailedCheck>>, nullable = false)]
    checks: Vec<FailedCheck<'a>>,
    /// Everything that the rule or the change needs but is not granted; only with `policy_denied`.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    #[schema(value_type = Option<Vec<String>>, nullable = false)]
    missing: &'a [String],
    /// The estimated cost of the rule; only with `too_expensive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    estimate: Option<EstimateView>,
    /// The id of the other transaction with the hash; only with `duplicate_hash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    transaction_id: Option<&'a str>,
    /// The line that the error is about, counted from 1; only in answers of `POST /inject/batch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    line: Option<u64>,
}

/// A check that a module failed.
#[derive(Serialize, ToSchema)]
#[schema(as = FailedCheck)]
pub(super) struct FailedCheck<'a> {
    /// Stable name of the check.
    #[schema(example = "imports")]
    check: &'a str,
    /// Offset of the invalid byte in the module, counted from 0; null if there is no single position.
    #[schema(required = true)]
    offset: Option<usize>,
    /// Message for people.
    message: &'a str,
}

impl ApiError {
    /// Returns the code and the message for the log.
    pub(super) fn summary(&self) -> String {
        format!("{}: {}", self.code.as_str(), self.message)
    }

    /// Creates an error. The message is for people: lower case, one line, with input quoted.
    pub(crate) fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), field: None, detail: ErrorDetail::Nothing }
    }

    /// Adds the name of the invalid field.
    #[must_use]
    pub(crate) fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Returns the error code.
    #[must_use]
    pub(crate) const fn code(&self) -> ErrorCode {
        self.code
    }

    /// Creates an internal error and logs its cause; the response does not contain the cause.
    pub(super) fn internal(cause: &str) -> Self {
        tracing::error!(cause, "a request failed with an internal error");
        Self::logged_already()
    }

    /// Creates an internal error whose cause is already in the log.
    pub(super) fn logged_already() -> Self {
        Self::new(ErrorCode::InternalError, "internal error; the log states the cause")
    }

    fn module(message: String, checks: Vec<AdmissionFinding>) -> Self {
        Self { detail: ErrorDetail::Checks(checks), ..Self::new(ErrorCode::ModuleRefused, message) }
    }

    /// Creates an error for a rule that needs more than it is granted.
    fn denied(message: String, missing: Vec<String>) -> Self {
        Self { detail: ErrorDetail::Missing(missing), ..Self::new(ErrorCode::PolicyDenied, message) }
    }

    /// Creates an error for a rule that costs too much.
    fn too_expensive(message: String, estimate: Option<QueryEstimate>) -> Self {
        let detail = estimate.map_or(ErrorDetail::Nothing, ErrorDetail::Estimate);
        Self { detail, ..Self::new(ErrorCode::TooExpensive, message) }
    }

    fn compile(diagnostics: Vec<Diagnostic>) -> Self {
        let headline = headline(&diagnostics);
        Self { detail: ErrorDetail::Diagnostics(diagnostics), ..Self::new(ErrorCode::CompileError, headline) }
    }
}

impl ApiError {
    fn body(&self) -> ErrorBody<'_> {
        let (mut diagnostics, mut checks, mut missing) = (&[][..], &[][..], &[][..]);
        let (mut estimate, mut transaction_id) = (None, None);
        match &self.detail {
            ErrorDetail::Nothing | ErrorDetail::Wait(_) => {}
            ErrorDetail::Diagnostics(listed) => diagnostics = listed,
            ErrorDetail::Checks(listed) => checks = listed,
            ErrorDetail::Missing(listed) => missing = listed,
            ErrorDetail::Estimate(of_rule) => estimate = Some(EstimateView::from(*of_rule)),
            ErrorDetail::Other(id) => transaction_id = Some(&**id),
        }
        ErrorBody {
            error: &self.message,
            code: self.code.as_str(),
            field: self.field.as_deref(),
            diagnostics,
            checks: checks.iter().map(FailedCheck::from).collect(),
            missing,
            estimate,
            transaction_id,
            line: None,
        }
    }

    /// Returns the body of this error about a line of a batch, counted from 1.
    pub(super) fn of_line(&self, line: u64) -> Vec<u8> {
        // Texts and numbers can always be written.
        serde_json::to_vec(&ErrorBody { line: Some(line), ..self.body() }).unwrap_or_default()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let mut response = (status, axum::Json(self.body())).into_response();
        if status == axum::http::StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
        if let ErrorDetail::Wait(wait) = self.detail {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
        }
        if status == axum::http::StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, SIGNED);
        }
        response.extensions_mut().insert(self.code);
        response
    }
}

impl<'a> From<&'a AdmissionFinding> for FailedCheck<'a> {
    fn from(finding: &'a AdmissionFinding) -> Self {
        let AdmissionFinding { check, offset, message } = finding;
        Self { check, offset: *offset, message }
    }
}

impl From<InvalidTransaction> for ApiError {
    fn from(error: InvalidTransaction) -> Self {
        let code = match &error {
            InvalidTransaction::Json(error) => code_of_json(error.kind()),
            InvalidTransaction::NotAnObject => ErrorCode::NotAnObject,
            InvalidTransaction::MissingField { .. } | InvalidTransaction::MissingAsSpelled { .. } => {
                ErrorCode::MissingField
            }
            InvalidTransaction::MisspelledField { .. } => ErrorCode::MisspelledField,
            InvalidTransaction::InvalidField { .. } | InvalidTransaction::UnclearIdentifier { .. } => {
                ErrorCode::InvalidField
            }
        };
        Self { field: error.field().map(str::to_owned), ..Self::new(code, error.to_string()) }
    }
}

impl From<JsonError> for ApiError {
    fn from(error: JsonError) -> Self {
        InvalidTransaction::Json(error).into()
    }
}

const fn code_of_json(kind: &JsonErrorKind) -> ErrorCode {
    match kind {
        JsonErrorKind::InvalidUtf8 { .. } => ErrorCode::InvalidUtf8,
        JsonErrorKind::Malformed { .. } => ErrorCode::MalformedJson,
        JsonErrorKind::DuplicateKey { .. } => ErrorCode::DuplicateKey,
        JsonErrorKind::TooDeep { .. } => ErrorCode::TooDeep,
        JsonErrorKind::TooManyKeys { .. } => ErrorCode::TooManyKeys,
        JsonErrorKind::NumberOutOfRange => ErrorCode::NumberOutOfRange,
        JsonErrorKind::NulCharacter => ErrorCode::NulCharacter,
    }
}

impl From<MonitorError> for ApiError {
    fn from(error: MonitorError) -> Self {
        let code = match error {
            MonitorError::Conflict(ref field) => {
                return Self::new(ErrorCode::TransactionConflict, error.to_string()).at(&**field);
            }
            MonitorError::DuplicateHash(ref first) => {
                let detail = ErrorDetail::Other(Arc::clone(first));
                return Self { detail, ..Self::new(ErrorCode::DuplicateHash, error.to_string()) };
            }
            MonitorError::Overloaded => ErrorCode::Overloaded,
            MonitorError::Unavailable => ErrorCode::Unavailable,
            MonitorError::Starting => ErrorCode::Starting,
            MonitorError::HistoryFull | MonitorError::HistoryUnread => ErrorCode::HistoryUnavailable,
            MonitorError::NotReady(_) => ErrorCode::NotReady,
            MonitorError::Stopping => ErrorCode::Stopping,
        };
        Self::new(code, error.to_string())
    }
}

impl From<PaymentError> for ApiError {
    fn from(error: PaymentError) -> Self {
        match error {
            PaymentError::Monitor(error) => error.into(),
            PaymentError::Store(error) => error.into(),
            PaymentError::TooManyWait | PaymentError::TooManyDead => {
                Self::new(ErrorCode::Overloaded, error.to_string())
            }
        }
    }
}

impl From<EventError> for ApiError {
    fn from(error: EventError) -> Self {
        let message = error.to_string();
        match error {
            EventError::NotAnObject => Self::new(ErrorCode::NotAnObject, message),
            EventError::Missing(member) => Self::new(ErrorCode::MissingField, message).at(member),
            EventError::Invalid(member, _) => Self::new(ErrorCode::InvalidField, message).at(member),
            EventError::Transaction(error) => error.into(),
            EventError::Payment(error) => error.into(),
        }
    }
}

impl From<SingleError> for ApiError {
    fn from(error: SingleError) -> Self {
        let code = match error {
            SingleError::NotFound => ErrorCode::TransactionNotFound,
            SingleError::NotJudged => ErrorCode::NotJudged,
            SingleError::Busy => ErrorCode::Overloaded,
            SingleError::TooLong => ErrorCode::ReplayTooLong,
            SingleError::Audit(AuditError::Store(error)) => return error.into(),
            SingleError::Audit(error) => return Self::internal(&ErrorChain(&error).to_string()),
        };
        Self::new(code, error.to_string())
    }
}

impl From<SignatureError> for ApiError {
    fn from(error: SignatureError) -> Self {
        let code = match error {
            SignatureError::Missing => ErrorCode::SignatureMissing,
            SignatureError::Invalid => ErrorCode::SignatureInvalid,
            SignatureError::Expired => ErrorCode::SignatureExpired,
        };
        Self::new(code, error.to_string())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        tracing::error!(error = %ErrorChain(&error), "the store did not serve a request");
        Self::new(ErrorCode::Unavailable, "the store is unavailable; try again")
    }
}

impl From<ReplayError> for ApiError {
    fn from(error: ReplayError) -> Self {
        let code = match error {
            ReplayError::NotConfigured => ErrorCode::AlertsNotConfigured,
            ReplayError::NotFound => ErrorCode::DeadLetterNotFound,
            ReplayError::Store(error) => return error.into(),
        };
        Self::new(code, error.to_string())
    }
}

impl From<GitSyncError> for ApiError {
    fn from(error: GitSyncError) -> Self {
        let code = ErrorCode::ALL.iter().find(|code| code.as_str() == error.code());
        match error {
            GitSyncError::Intake(error) => error.into(),
            GitSyncError::Broken => Self::internal("an operation on the repository ended without a result"),
            GitSyncError::Branch => Self::new(ErrorCode::InvalidField, error.to_string()).at("branch"),
            GitSyncError::Message => Self::new(ErrorCode::InvalidField, error.to_string()).at("message"),
            GitSyncError::Git(GitError::Address(_)) => {
                Self::new(ErrorCode::GitAddressInvalid, error.to_string()).at("url")
            }
            _ => Self::new(code.copied().unwrap_or(ErrorCode::InternalError), error.to_string()),
        }
    }
}

impl From<IntakeError> for ApiError {
    fn from(error: IntakeError) -> Self {
        let message = error.to_string();
        match error {
            IntakeError::Compile(diagnostics) => Self::compile(diagnostics),
            IntakeError::ModuleRefused(refusal) => Self::module(message, refusal.findings),
            IntakeError::CompilerUnavailable(_) => Self::new(ErrorCode::CompilerUnavailable, message),
            IntakeError::NameTaken { .. } => Self::new(ErrorCode::NameTaken, message),
            IntakeError::TooMany => Self::new(ErrorCode::TooManyRules, message),
            IntakeError::TooFewRules { .. } => Self::new(ErrorCode::TooFewRules, message),
            IntakeError::OverLimit(_) => Self::new(ErrorCode::CompileError, message),
            IntakeError::NotGranted(denial) => Self::denied(message, denial.missing),
            IntakeError::TooExpensive(error) => Self::too_expensive(message, Some(error.estimate)),
            IntakeError::NoRoom(estimate) => Self::too_expensive(message, estimate),
            IntakeError::TooManySaves(wait) => {
                Self { detail: ErrorDetail::Wait(wait), ..Self::new(ErrorCode::TooManySaves, message) }
            }
            IntakeError::Changing(_) => Self::new(ErrorCode::InstructionChanging, message),
            IntakeError::NotReplaceable { .. } => Self::new(ErrorCode::InstructionTaken, message),
            IntakeError::NotFound(_) | IntakeError::Removed(_) | IntakeError::StillRefused { .. } => {
                Self::new(ErrorCode::InstructionNotFound, message)
            }
            IntakeError::ListsRefused(_) => Self::new(ErrorCode::ListsRefused, message),
            IntakeError::ListTaken { .. } => Self::new(ErrorCode::ListTaken, message),
            IntakeError::ListNotFound(_) => Self::new(ErrorCode::ListNotFound, message),
            IntakeError::TooManyLists => Self::new(ErrorCode::TooManyLists, message),
            IntakeError::InvalidList(_) => Self::new(ErrorCode::InvalidList, message),
            IntakeError::Unconfirmed(_) => Self::new(ErrorCode::ConfirmationRequired, message),
            IntakeError::PreconditionFailed => Self::new(ErrorCode::PreconditionFailed, message),
            IntakeError::Refused(_) => Self::internal(&message),
            IntakeError::Unavailable => Self::new(ErrorCode::Unavailable, message),
        }
    }
}
