//! Fuses rules compiled from scripts into modules that answer for up to 64 rules each.
//!
//! ```text
//!  rules of a set + bodies of the previous set ──plan──▶ groups ──build──▶ bodies
//! ```
//!
//! The module of each single rule is what is stored and digested, and it is authoritative. A *body* is a module
//! compiled from several checked rules, in which each shared query is evaluated once. Bodies change no answer: if one
//! fails, the modules of its members judge instead. Patterns in one field, and queries about one key, can be answered
//! together (`joint`).
//!
//! Untrusted modules, quarantined rules and large rules are never fused. Neither is a script whose stored module
//! differs in any byte from the output of this compiler.

mod build;
mod joint;
mod plan;
mod similarity;

use std::collections::{BTreeMap, HashSet};
use std::num::NonZero;
use std::sync::Arc;
use std::thread::{self, available_parallelism};

use tollgate_model::instruction::{InstructionId, RuleOwner};

use crate::registry::{BoundRule, FusedBody, FusedMember};
use crate::sandbox::{AdmissionRefusal, AdmittedModule};
use plan::FusionGroup;
use similarity::SimilarityKey;

pub(crate) use build::FUEL_BESIDE_LOOKUPS;

/// Compiles and admits the module of a body.
pub type Admit<'a> = &'a (dyn Fn(&[u8]) -> Result<AdmittedModule, AdmissionRefusal> + Sync);

/// Returns the bodies for these rules. Bodies of the previous set that still fit are reused, so a change to one rule
/// compiles one body. Without previous bodies, as at a start, they are built on all cores.
#[must_use]
pub fn bodies(admit: Admit<'_>, before: &[Arc<FusedBody>], rules: &[Arc<BoundRule>]) -> Vec<Arc<FusedBody>> {
    let mut by_owner: Vec<(RuleOwner, BTreeMap<InstructionId, &Arc<BoundRule>>)> = Vec::new();
    for rule in rules.iter().filter(|rule| build::is_fusible(rule)) {
        let owner = rule.owner();
        let known = by_owner.iter().position(|(known, _)| *known == owner).unwrap_or_else(|| {
            by_owner.push((owner, BTreeMap::new()));
            by_owner.len() - 1
        });
        if let Some((_, by_id)) = by_owner.get_mut(known) {
            by_id.insert(rule.instruction.record.id, rule);
        }
    }
    let n_threads = if before.is_empty() { available_parallelism().map_or(1, NonZero::get) } else { 1 };
    by_owner.iter().flat_map(|(_, by_id)| bodies_of_owner(admit, before, by_id, n_threads)).collect()
}

/// The rules of different owners are in different bodies, so no owner's rules affect the bodies of another.
fn bodies_of_owner(
    admit: Admit<'_>,
    before: &[Arc<FusedBody>],
    by_id: &BTreeMap<InstructionId, &Arc<BoundRule>>,
    n_threads: usize,
) -> Vec<Arc<FusedBody>> {
    let is_own = |body: &&Arc<FusedBody>| body.members.iter().any(|member| by_id.contains_key(&member.id));
    let before: Vec<Arc<FusedBody>> = before.iter().filter(is_own).map(Arc::clone).collect();
    let groups = plan::plan(&before, in_order(&before, by_id));
    let build = |group: &FusionGroup| match &group.kept {
        Some(body) => vec![Arc::clone(body)],
        None => {
            let members: Vec<&BoundRule> =
                group.members.iter().filter_map(|member| Some(&***by_id.get(&member.id)?)).collect();
            build::make(admit, &members, group.is_full)
        }
    };
    let n_threads = n_threads.min(groups.len());
    if n_threads < 2 {
        return groups.iter().flat_map(build).collect();
    }
    thread::scope(|scope| {
        let shares = groups.chunks(groups.len().div_ceil(n_threads));
        let threads: Vec<_> =
            shares.map(|share| scope.spawn(|| share.iter().flat_map(build).collect::<Vec<_>>())).collect();
        // A rule without a body is run by itself.
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

/// Members of existing bodies first, in order of id; then the other rules, sorted by similarity.
fn in_order(
    before: &[Arc<FusedBody>],
    rules: &BTreeMap<InstructionId, &Arc<BoundRule>>,
) -> impl Iterator<Item = FusedMember> {
    let seated: HashSet<InstructionId> =
        before.iter().flat_map(|body| body.members.iter().map(|member| member.id)).collect();
    let kinship =
        |id: &InstructionId, rule: &BoundRule| (!seated.contains(id)).then(|| SimilarityKey::of_rule(rule));
    let mut members: Vec<(Option<SimilarityKey>, FusedMember)> =
        rules.iter().map(|(id, rule)| (kinship(id, rule), member(rule))).collect();
    members.sort_by(|(left, _), (right, _)| left.cmp(right));
    members.into_iter().map(|(_, member)| member)
}

fn member(rule: &BoundRule) -> FusedMember {
    FusedMember { id: rule.instruction.record.id, digest: rule.instruction.digest }
}
