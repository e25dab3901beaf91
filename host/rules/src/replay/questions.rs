//! Registers the queries of several rule set versions in advance, so that the history serves them from the beginning of
//! the log.

use std::collections::HashSet;
use std::sync::Arc;

use tollgate_engine::sandbox::manifest_of;
use tollgate_guest_abi::Manifest;
use tollgate_history::{AggregateQuery, History, HistoryError, PreviousQuery};
use tollgate_model::instruction::ContentDigest;

use crate::replay::{AuditDeps, AuditError, status_words, zones};

/// Maximum number of series for a pass over several versions. A single version may have more.
const SERIES_PER_PASS_MAX: usize = 256;

/// Queries that the history keeps answerable.
#[derive(Debug, Default)]
pub(super) struct AnswerableQuestions {
    aggregates: Vec<Arc<AggregateQuery>>,
    previous: Vec<Arc<PreviousQuery>>,
    digests: HashSet<ContentDigest>,
}

impl AnswerableQuestions {
    /// Registers the queries of the next versions, the last of `left` first, until the history has enough. Returns
    /// these versions.
    pub(super) fn of_next(
        deps: &AuditDeps,
        history: &History,
        left: &mut Vec<u64>,
    ) -> Result<(Self, Vec<u64>), AuditError> {
        let (mut all, mut taken) = (Self::default(), Vec::new());
        while let Some(&version) = left.last() {
            let is_by_other_zones = zones::named_by(deps, version)? != zones::digest_of(history.zones());
            let words = status_words::named_by(deps, version)?;
            let is_by_other_words = !status_words::suit(words, history.status_words());
            if (is_by_other_zones || is_by_other_words) && !taken.is_empty() {
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

    /// Registers the queries of a version that are not registered yet.
    fn more_of(&self, deps: &AuditDeps, history: &History, version: u64) -> Result<Self, AuditError> {
        let mut more = Self::default();
        let parts = deps.executor.block_on(deps.store.rule_set_parts(version))?;
        for member in parts.into_iter().flat_map(|parts| parts.members) {
            let is_known = self.digests.contains(&member.digest) || more.digests.contains(&member.digest);
            if member.quarantine.is_some() || is_known {
                continue;
            }
            let module = deps.executor.block_on(deps.store.module(member.digest))?;
            // A defective module is reported when it is to run.
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

/// Ignores an invalid filter: it is reported when its rule is to run.
fn answerable<T>(version: u64, asked: Result<T, HistoryError>) -> Result<Option<T>, AuditError> {
    match asked {
        Ok(question) => Ok(Some(question)),
        Err(HistoryError::Filter(_)) => Ok(None),
        Err(
            source @ (HistoryError::TooManySeries { .. }
            | HistoryError::OverLimit
            | HistoryError::Past(_)
            | HistoryError::Spill(_)),
        ) => Err(AuditError::Questions { version, source }),
    }
}
