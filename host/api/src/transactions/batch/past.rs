//! Lines of a batch that are stored without a verdict, in groups.

use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use tollgate_guest_abi::{Verdict, VerdictSeverity};
use tollgate_model::assessment::Assessment;
use tollgate_model::transaction::InjectRequest;
use tollgate_pipeline::monitor::{Batch, BatchPermission, MonitorError, PastTransaction};
use utoipa::ToSchema;

use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::transactions::inject;

/// Lines of a group, and bytes after which it has no more of them.
const LINES_MAX: usize = 512;
const BYTES_MAX: usize = 512 * 1024;

/// Lines that wait to be stored, in their order.
#[derive(Debug, Default)]
pub(super) struct PastLines {
    lines: Vec<PastLine>,
    n_bytes: usize,
}

/// A line, or why it is refused.
#[derive(Debug)]
struct PastLine {
    number: u64,
    request: Result<InjectRequest, ApiError>,
}

/// The answer to a line of a batch.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum BatchLineAnswer {
    /// The verdict.
    Judged(Assessment),
    /// With `history_only`, the transaction is stored.
    Stored(UnjudgedAnswer),
}

/// The answer about a transaction that is stored without a verdict.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UnjudgedAnswer {
    /// Id of the transaction.
    #[schema(value_type = String, example = "txn_1")]
    transaction_id: Arc<str>,
    /// None.
    #[schema(required, value_type = Option<VerdictSeverity>)]
    verdict: Option<Verdict>,
}

/// Refuses a request that cannot be a past transaction.
pub(super) fn request_of(request: InjectRequest) -> Result<InjectRequest, ApiError> {
    if let Some(objection) = request.objection {
        return Err(objection.into());
    }
    if request.transaction.timestamp.is_set_on_arrival() {
        let message = "`created_at` is missing; a past transaction counts at that time";
        return Err(ApiError::new(ErrorCode::MissingField, message).at("created_at"));
    }
    Ok(request)
}

impl PastLines {
    /// Adds a line of this many bytes.
    pub(super) fn push(&mut self, number: u64, request: Result<InjectRequest, ApiError>, n_bytes: usize) {
        self.lines.push(PastLine { number, request });
        self.n_bytes += n_bytes;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns whether one more line may be added.
    pub(super) const fn has_room(&self) -> bool {
        self.lines.len() < LINES_MAX && self.n_bytes < BYTES_MAX
    }

    /// Begins to store the lines. Returns their answers as lines, the last without its end.
    pub(super) fn store(
        self,
        api: &ApiState,
        batch: &mut Batch,
        permission: BatchPermission,
    ) -> impl Future<Output = Vec<u8>> + Send + use<> {
        let n_lines = self.lines.len();
        let (mut past, mut lines) = (Vec::with_capacity(n_lines), Vec::with_capacity(n_lines));
        for PastLine { number, request } in self.lines {
            let stored = request.map(|request| {
                inject::count(api, &request);
                let InjectRequest { transaction, fingerprint, .. } = request;
                let id = Arc::clone(&transaction.transaction_id);
                past.push(PastTransaction { transaction, fingerprint });
                id
            });
            lines.push((number, stored));
        }
        let (storing, api) = (batch.record(past, permission), api.clone());
        async move {
            let mut outcomes = storing.await.into_iter();
            let answers = lines.into_iter().map(|(number, stored)| {
                let answer = stored.and_then(|id| match outcomes.next() {
                    Some(Ok(())) => Ok(id),
                    Some(Err(error)) => Err(error.into()),
                    None => Err(MonitorError::Unavailable.into()),
                });
                (number, answer)
            });
            written(&api, answers)
        }
    }

    /// Returns the answers to lines that cannot be stored, as lines, the last without its end.
    pub(super) fn refuse(self, api: &ApiState, error: &MonitorError) -> Vec<u8> {
        let refused = self
            .lines
            .into_iter()
            .map(|PastLine { number, request }| (number, request.and_then(|_| Err(error.clone().into()))));
        written(api, refused)
    }
}

fn written(api: &ApiState, answers: impl Iterator<Item = (u64, Result<Arc<str>, ApiError>)>) -> Vec<u8> {
    let mut text = Vec::new();
    for (number, answer) in answers {
        if !text.is_empty() {
            text.push(b'\n');
        }
        match answer {
            Ok(id) => {
                let stored = UnjudgedAnswer { transaction_id: id, verdict: None };
                text.extend(serde_json::to_vec(&stored).unwrap_or_default());
            }
            Err(error) => {
                api.metrics.refused(error.code().as_str());
                text.extend(error.of_line(number));
            }
        }
    }
    text
}
