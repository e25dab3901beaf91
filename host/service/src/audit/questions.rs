//! What the rules of some versions ask of the history, before the first of them is run: so that the history keeps it from the
//! beginning of the log.

use std::collections::HashSet;
use std::sync::Arc;

use tollgate_engine::sandbox::manifest_of;
use tollgate_guest_abi::Manifest;
use tollgate_history::{AggregateQuery, History, HistoryError, PreviousQuery};
use tollgate_model::instruction::ContentDigest;

use crate::audit::{AuditDeps, AuditError, zones};

/// Versions are read for one pass as long as their questions have no more series than this; a version alone may have more, as
/// it had when it was in force.
const SERIES_PER_PASS_MAX: usize = 256;

/// Questions that are kept answerable.
#[derive(Debug, Default)]
pub(super) struct AnswerableQuestions {
    aggregates: Vec<Arc<AggregateQuery>>,
    previous: Vec<Arc<PreviousQuery>>,
    digests: HashSet<ContentDigest>,
}

impl AnswerableQuestions {
    /// Asks what the next versions ask, the last of `left` first, until the history has enough. Answers which.
    pub(super) fn of_next(
        deps: &AuditDeps,
        history: &History,
        left: &mut Vec<u64>,
    ) -> Result<(Self, Vec<u64>), AuditError> {
        let (mut all, mut taken) = (Self::default(), Vec::new());
        while let Some(&version) = left.last() {
            let is_by_other_zones = zones::named_by(deps, version)? != zones::digest_of(history.zones());
            if is_by_other_zones && !taken.is_empty() {
                break;
            }
            let more = match all.more_of(deps, history, version) {
                Ok(more) => more,
                Err(AuditError::Questions { .. }) if !taken.is_empty() => break,
                Err(error) => return Err(error),
            };
            if !taken.is_empty() && history.n_series() > SERIES_PER_PASS_MAX {
                break;
            }
            all.add(more);
            taken.push(version);
            left.pop();
        }
        Ok((all, taken))
    }

    /// What a version asks and nobody asked before.
    fn more_of(&self, deps: &AuditDeps, history: &History, version: u64) -> Result<Self, AuditError> {
        let mut more = Self::default();
        let parts = deps.executor.block_on(deps.store.rule_set_parts(version))?;
        for member in parts.into_iter().flat_map(|parts| parts.members) {
            let is_known = self.digests.contains(&member.digest) || more.digests.contains(&member.digest);
            if member.quarantine.is_some() || is_known {
                continue;
            }
            let module = deps.executor.block_on(deps.store.module(member.digest))?;
            // What is wrong with a module is said when it is to be run.
            let manifest = module.and_then(|bytes| manifest_of(&bytes).ok().flatten());
            if let Some(Manifest { needs, semantics, .. }) = manifest {
                for spec in &needs.aggregates {
                    more.aggregates.extend(answerable(version, history.aggregate(spec, semantics))?);
                }
                for spec in &needs.previous {
                    more.previous.extend(answerable(version, history.previous(spec, semantics))?);
                }
            }
            more.digests.insert(member.digest);
        }
        Ok(more)
    }

    fn add(&mut self, more: Self) {
        self.aggregates.extend(more.aggregates);
        self.previous.extend(more.previous);
        self.digests.extend(more.digests);
    }
}

/// A question that is none is said when its rule is to be run.
fn answerable<T>(version: u64, asked: Result<T, HistoryError>) -> Result<Option<T>, AuditError> {
    match asked {
        Ok(question) => Ok(Some(question)),
        Err(HistoryError::Filter(_)) => Ok(None),
        Err(source @ (HistoryError::TooManySeries { .. } | HistoryError::Past(_))) => {
            Err(AuditError::Questions { version, source })
        }
    }
}
