//! Rules of scripts put together into modules that answer for up to 64 of them at once.
//!
//! ```text
//!  rules of a set + bodies of the set before ──plan──▶ groups ──making──▶ bodies
//! ```
//!
//! A module for each rule is what is stored, digested and read back, and what decides when there is a doubt. A *body* is
//! made of the same checked rules and asks each question once for all of them; a rule set that has bodies calls a module
//! where it called sixty-four. Whether a rule is in a body changes no answer: one that fails on a transaction is set aside
//! there, and the modules of its members judge. Patterns that a body searches in one field, and questions about one key with
//! which its rules begin, can be answered at once ([`joint`]).
//!
//! Modules by strangers are never put together with others, and neither are rules in quarantine, large ones, and scripts whose
//! stored module is not, to the last byte, what this compiler makes of them.

mod build;
mod joint;
mod plan;
mod similarity;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use tollgate_model::instruction::InstructionId;

use crate::registry::{BoundRule, FusedBody, FusedMember};
use crate::sandbox::Sandbox;
use similarity::SimilarityKey;

/// The bodies for these rules. Of those of the set before, each that still fits is taken over as it is, so that a change
/// of one rule compiles one body.
#[must_use]
pub fn bodies(sandbox: &Sandbox, before: &[Arc<FusedBody>], rules: &[Arc<BoundRule>]) -> Vec<Arc<FusedBody>> {
    let fusible = rules.iter().filter(|rule| build::is_fusible(rule));
    let by_id: BTreeMap<InstructionId, &Arc<BoundRule>> =
        fusible.map(|rule| (rule.instruction.record.id, rule)).collect();
    let groups = plan::plan(before, in_order(before, &by_id));
    let made = groups.into_iter().flat_map(|group| match group.kept {
        Some(body) => vec![body],
        None => {
            let members: Vec<&BoundRule> =
                group.members.iter().filter_map(|member| Some(&***by_id.get(&member.id)?)).collect();
            build::make(sandbox, &members, group.is_full)
        }
    });
    made.collect()
}

/// Members of bodies, which stay where they are, and then the others, next to those they gain by being with.
fn in_order(
    before: &[Arc<FusedBody>],
    rules: &BTreeMap<InstructionId, &Arc<BoundRule>>,
) -> impl Iterator<Item = FusedMember> {
    let seated: HashSet<InstructionId> =
        before.iter().flat_map(|body| body.members.iter().map(|member| member.id)).collect();
    let kinship =
        |id: &InstructionId, rule: &BoundRule| (!seated.contains(id)).then(|| SimilarityKey::of(rule));
    let mut members: Vec<(Option<SimilarityKey>, FusedMember)> =
        rules.iter().map(|(id, rule)| (kinship(id, rule), member(rule))).collect();
    members.sort_by(|(left, _), (right, _)| left.cmp(right));
    members.into_iter().map(|(_, member)| member)
}

fn member(rule: &BoundRule) -> FusedMember {
    FusedMember { id: rule.instruction.record.id, digest: rule.instruction.digest }
}
