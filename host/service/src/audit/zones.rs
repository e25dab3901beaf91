//! The zone data that a version of the rule set was run by.

use std::sync::Arc;

use tollgate_model::calendar::ZoneData;
use tollgate_model::instruction::ContentDigest;

use crate::audit::{AuditDeps, AuditError};

/// The digest of the zone data in use; `None` of the data that never changes.
pub(super) fn digest_of(zones: &ZoneData) -> Option<ContentDigest> {
    zones.kept().map(|(digest, _)| ContentDigest(*digest))
}

/// What a version says of its zone data; nothing, like the data that never changes, where there is no such version.
pub(super) fn named_by(deps: &AuditDeps, version: u64) -> Result<Option<ContentDigest>, AuditError> {
    let parts = deps.executor.block_on(deps.store.rule_set_parts(version))?;
    Ok(parts.and_then(|parts| parts.zones))
}

/// The zone data under a digest, if it is kept and is what the digest says.
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
