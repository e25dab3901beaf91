//! The table of status words used by a version of the rule set.

use std::sync::Arc;

use tollgate_model::instruction::ContentDigest;
use tollgate_model::transaction::StatusWords;

use crate::replay::{AuditDeps, AuditError};

/// Returns the digest recorded for a version, or `None` if it was made before rules could ask for stages.
pub(super) fn named_by(deps: &AuditDeps, version: u64) -> Result<Option<ContentDigest>, AuditError> {
    let parts = deps.executor.block_on(deps.store.rule_set_parts(version))?;
    Ok(parts.and_then(|parts| parts.status_words))
}

/// Returns whether a version with this table can be judged by a history with that one.
pub(super) fn suit(named: Option<ContentDigest>, words: &StatusWords) -> bool {
    named.is_none_or(|digest| digest == ContentDigest(*words.digest()))
}

/// Returns the table with a digest, or the built-in one if it is not available or does not match the digest.
pub(super) fn kept_under(
    deps: &AuditDeps,
    digest: Option<ContentDigest>,
) -> Result<Arc<StatusWords>, AuditError> {
    let built_in = StatusWords::built_in();
    let Some(digest) = digest.filter(|digest| *digest != ContentDigest(*built_in.digest())) else {
        return Ok(built_in);
    };
    let kept = deps.executor.block_on(deps.store.status_words(digest))?;
    let read = kept.and_then(|text| StatusWords::from_stored(&text));
    Ok(read.filter(|words| suit(Some(digest), words)).map_or(built_in, Arc::new))
}
