//! Groups rules into bodies, and changes existing groups as little as possible.
//!
//! A new rule set waits for the bodies that change, and compile time grows with the number of members. A new rule
//! therefore joins a small young group, which joins a large one only after it has grown.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_guest_abi::RULES_PER_MODULE_MAX;
use tollgate_model::instruction::InstructionId;

use crate::registry::{FusedBody, FusedMember};

/// A changed group with fewer members is merged with another group.
const SMALL: usize = RULES_PER_MODULE_MAX / 2;

/// A group with fewer members is young: it accepts new rules, and is merged only into another young group.
const GROWN_UP: usize = RULES_PER_MODULE_MAX / 8;

/// Rules that belong in one body.
#[derive(Debug)]
pub(super) struct FusionGroup {
    pub(super) members: Vec<FusedMember>,
    /// The existing body with exactly these members.
    pub(super) kept: Option<Arc<FusedBody>>,
    /// Whether the group was split off because its rules exceeded the limits of one module; it accepts no more members.
    pub(super) is_full: bool,
}

/// Returns groups of at least two members. Existing members keep their group. New members join a group that changes
/// anyway if one has room, otherwise a young group.
pub(super) fn plan(
    before: &[Arc<FusedBody>],
    members: impl Iterator<Item = FusedMember>,
) -> Vec<FusionGroup> {
    let members: Vec<FusedMember> = members.collect();
    let mut unseated: BTreeMap<InstructionId, FusedMember> =
        members.iter().map(|member| (member.id, *member)).collect();
    let mut groups: Vec<FusionGroup> = before.iter().map(|body| keep_group(body, &mut unseated)).collect();
    for member in members.into_iter().filter(|member| unseated.contains_key(&member.id)) {
        seat(&mut groups, member);
    }
    while let Some((into, from)) = two_to_join(&groups) {
        let joined = groups.remove(from).members;
        if let Some(group) = groups.get_mut(into) {
            group.members.extend(joined);
            group.kept = None;
        }
    }
    groups.retain(|group| group.members.len() > 1);
    groups
}

/// The members of a body that are still in the set.
fn keep_group(body: &Arc<FusedBody>, unseated: &mut BTreeMap<InstructionId, FusedMember>) -> FusionGroup {
    let members: Vec<FusedMember> = body.members.iter().filter_map(|old| unseated.remove(&old.id)).collect();
    let kept = (members == body.members).then(|| Arc::clone(body));
    let is_full = body.is_full && members.len() == body.members.len();
    FusionGroup { members, kept, is_full }
}

fn seat(groups: &mut Vec<FusionGroup>, member: FusedMember) {
    let takes_it = |group: &FusionGroup| group.has_room_for(1) && (group.kept.is_none() || group.is_young());
    // Prefer the last group that changes anyway, otherwise the last group that accepts the member.
    let indices = groups.iter().enumerate().filter(|(_, group)| takes_it(group));
    match indices.map(|(index, group)| (group.kept.is_none(), index)).max() {
        Some((_, index)) => {
            if let Some(group) = groups.get_mut(index) {
                group.members.push(member);
                group.kept = None;
            }
        }
        None => groups.push(FusionGroup { members: vec![member], kept: None, is_full: false }),
    }
}

impl FusionGroup {
    const fn is_young(&self) -> bool {
        self.members.len() < GROWN_UP
    }

    fn has_room_for(&self, n: usize) -> bool {
        !self.is_full && self.members.len() + n <= RULES_PER_MODULE_MAX
    }
}

/// Returns a group and a small changed group to merge into it. A young group is merged only into another young group.
fn two_to_join(groups: &[FusionGroup]) -> Option<(usize, usize)> {
    let is_small =
        |group: &FusionGroup| group.kept.is_none() && !group.is_full && group.members.len() < SMALL;
    let pair = |from: usize| {
        let joins = groups.get(from).filter(|group| is_small(group))?;
        let others = groups.iter().enumerate().take(from);
        let mut fitting = others.filter(|(_, into)| {
            into.has_room_for(joins.members.len()) && (into.is_young() || !joins.is_young())
        });
        // Only earlier groups are candidates, so each pair is checked once.
        fitting.next().map(|(into, _)| (into, from))
    };
    (0..groups.len()).rev().find_map(pair)
}
