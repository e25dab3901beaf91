//! The zone data used by a version of the rule set.

use std::sync::Arc;

use tollgate_model::calendar::ZoneData;
use tollgate_model::instruction::ContentDigest;

use crate::replay::{AuditDeps, AuditError};

/// Returns the digest of the zone data, or `None` for the frozen data.
pub(super) fn digest_of(zones: &ZoneData) -> Option<ContentDigest> {
    zones.kept().map(|(digest, _)| ContentDigest(*digest))
}

/// Returns the digest recorded for a version, or `None` if it used the frozen data or does not exist.
pub(super) fn named_by(deps: &AuditDeps, version: u64) -> Result<Option<ContentDigest>, AuditError> {
    let parts = deps.executor.block_on(deps.store.rule_set_parts(version))?;
    Ok(parts.and_then(|parts| parts.zones))
}

/// Returns the zone data with a digest, if it is available and matches the digest.
pub(super) fn kept_under(
    deps: &AuditDeps,
    digest: Option<ContentDigest>,
) -> Result<Option<Arc<ZoneData>>, AuditError> {
    let Some(digest) = digest else { return Ok(Some(ZoneData::frozen())) };
    let built_in = ZoneData::built_in();
    if digest_of(&built_in) == Some(digest) {
        return Ok(Some(built_in));
    }
    let kept = deps.executor.block_on(deps.store.zone_data(digest))?;
    let read = kept.and_then(|(name, archive)| ZoneData::read_archive(&name, &archive).ok());
    Ok(read.filter(|zones| digest_of(zones) == Some(digest)).map(Arc::new))
}
