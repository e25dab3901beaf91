//! Which rules go together: as before, as far as possible.
//!
//! A rule set waits for the bodies that change, and how long one takes to compile grows with its members. So a new rule goes
//! to a young group, of a few members, and only when that has grown up it joins a large one.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_guest_abi::RULES_PER_MODULE_MAX;
use tollgate_model::instruction::InstructionId;

use crate::registry::{FusedBody, FusedMember};

/// A group that changes and has fewer members than this is put together with another one.
const SMALL: usize = RULES_PER_MODULE_MAX / 2;

/// A group with fewer members than this is young: it takes the new ones, and is left to itself.
const GROWN_UP: usize = RULES_PER_MODULE_MAX / 8;

/// Rules that are to be in one body.
#[derive(Debug)]
pub(super) struct FusionGroup {
    pub(super) members: Vec<FusedMember>,
    /// The body that has exactly these.
    pub(super) kept: Option<Arc<FusedBody>>,
    /// Whether it is a part of more that was too much for one module: nothing is added to it.
    pub(super) is_full: bool,
}

/// Groups of two and more. Members stay where they were; new ones, in this order, go to groups that change anyway if those
/// have room, and to a young one otherwise.
pub(super) fn plan(
    before: &[Arc<FusedBody>],
    members: impl Iterator<Item = FusedMember>,
) -> Vec<FusionGroup> {
    let members: Vec<FusedMember> = members.collect();
    let mut unseated: BTreeMap<InstructionId, FusedMember> =
        members.iter().map(|member| (member.id, *member)).collect();
    let mut groups: Vec<FusionGroup> = before.iter().map(|body| carry_over(body, &mut unseated)).collect();
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

/// What is left of a body.
fn carry_over(body: &Arc<FusedBody>, unseated: &mut BTreeMap<InstructionId, FusedMember>) -> FusionGroup {
    let members: Vec<FusedMember> = body.members.iter().filter_map(|old| unseated.remove(&old.id)).collect();
    let kept = (members == body.members).then(|| Arc::clone(body));
    let is_full = body.is_full && members.len() == body.members.len();
    FusionGroup { members, kept, is_full }
}

fn seat(groups: &mut Vec<FusionGroup>, member: FusedMember) {
    let takes_it = |group: &FusionGroup| group.has_room_for(1) && (group.kept.is_none() || group.is_young());
    // Each group that takes it, whether it changes, and its place: the last of those that change, or else the last of all.
    let places = groups.iter().enumerate().filter(|(_, group)| takes_it(group));
    match places.map(|(place, group)| (group.kept.is_none(), place)).max() {
        Some((_, place)) => {
            if let Some(group) = groups.get_mut(place) {
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

/// A group, and a small one that changes and fits into it. One that is young joins others of its kind alone.
fn two_to_join(groups: &[FusionGroup]) -> Option<(usize, usize)> {
    let is_small =
        |group: &FusionGroup| group.kept.is_none() && !group.is_full && group.members.len() < SMALL;
    let pair = |from: usize| {
        let joins = groups.get(from).filter(|group| is_small(group))?;
        let others = groups.iter().enumerate().take(from);
        let mut fitting = others.filter(|(_, into)| {
            into.has_room_for(joins.members.len()) && (into.is_young() || !joins.is_young())
        });
        // It finds only what stands before it, so that each two are looked at once.
        fitting.next().map(|(into, _)| (into, from))
    };
    (0..groups.len()).rev().find_map(pair)
}
