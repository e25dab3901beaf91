//! Rules that stand for refused files of a new source. Each fails on every transaction until its file is corrected or
//! removed.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tollgate_engine::registry::{BoundRule, Lists, RULES_MAX};
use tollgate_model::instruction::{
    InstructionId, InstructionRecord, InstructionSource, Quarantine, QuarantineCause,
};

use crate::intake::tree::failure::FileFailure;
use crate::intake::tree::{RuleTree, TreeKind, TreeOrigin};
use crate::intake::{Draft, Identity, IntakeDeps, IntakeError};

/// The module of such a rule. It is never admitted, and differs from every file that could be taken.
const MODULE: &[u8] = b"refused";

/// Returns whether a rule or list from the tree's source is among these.
pub(super) fn is_any_in_force<'r>(
    origin: &TreeOrigin,
    mut sources: impl Iterator<Item = &'r InstructionSource>,
    lists: &Lists,
) -> bool {
    let is_own = |source: &InstructionSource| TreeKind::of_source(source) == Some(origin.kind());
    sources.any(is_own) || lists.iter().any(|(_, list)| is_own(&list.source))
}

/// Makes a rule for each refused file or folder without a last good version. A refused list has none: rules that name it
/// fail by themselves. Beyond the maximum number of rules there are none either.
///
/// # Errors
/// Only temporary errors.
pub(super) fn placeholders(
    deps: &IntakeDeps,
    tree: &RuleTree,
    failures: &[FileFailure],
    (last_id, n_rules): (InstructionId, usize),
    now: DateTime<Utc>,
) -> Result<Vec<Arc<BoundRule>>, IntakeError> {
    let lists: BTreeSet<&str> = tree.lists.iter().map(|file| file.path.as_str()).collect();
    let mut seen = BTreeSet::new();
    let without_rule = failures.iter().map(|failure| &failure.script).filter(|failed| {
        !failed.has_last_good && !lists.contains(failed.path.as_str()) && seen.insert(failed.path.as_str())
    });
    let ids = (last_id.0 + 1..).map(InstructionId);
    let made = without_rule.zip(ids).take(RULES_MAX.saturating_sub(n_rules)).map(|(failed, id)| {
        let reason = format!("the file was refused when its source was new: {}", failed.message);
        let record = InstructionRecord {
            id,
            name: name_of(&tree.origin, &failed.path),
            script: None,
            source: tree.origin.source(&failed.path),
            module: MODULE.to_vec(),
            created_at: now,
            updated_at: now,
            quarantine: Some(Quarantine { since: now, cause: QuarantineCause::Refused, reason }),
            origin: None,
            owner: None,
        };
        let draft = Draft::placeholder(&deps.sandbox, &record)?;
        draft.bind(&deps.history, Identity::from_record(&record)).map(Arc::new)
    });
    made.collect()
}

/// Returns a name that no rule can have, because names of rules have no colon.
fn name_of(origin: &TreeOrigin, path: &str) -> String {
    match origin.kind() {
        TreeKind::Directory => format!("file:{path}"),
        TreeKind::Git => format!("git:{path}"),
    }
}
