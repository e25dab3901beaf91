//! Which rules go together: as before, as far as possible.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_guest_abi::RULES_PER_MODULE_MAX;

use crate::instruction::InstructionId;
use crate::registry::{Body, Member};

/// A group that changes and has fewer members than this is put together with another one.
const SMALL: usize = RULES_PER_MODULE_MAX / 2;

/// Rules that are to be in one body.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) members: Vec<Member>,
    /// The body that has exactly these.
    pub(super) kept: Option<Arc<Body>>,
    /// Whether it is a part of more that was too much for one module: nothing is added to it.
    pub(super) is_full: bool,
}

/// Groups of two and more. Members stay where they were; new ones, in this order, go where there is room, to groups that
/// change anyway if there are some.
pub(super) fn plan(before: &[Arc<Body>], members: impl Iterator<Item = Member>) -> Vec<Group> {
    let members: Vec<Member> = members.collect();
    let mut unseated: BTreeMap<InstructionId, Member> =
        members.iter().map(|member| (member.id, *member)).collect();
    let mut groups: Vec<Group> = before.iter().map(|body| carry_over(body, &mut unseated)).collect();
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
fn carry_over(body: &Arc<Body>, unseated: &mut BTreeMap<InstructionId, Member>) -> Group {
    let members: Vec<Member> = body.members.iter().filter_map(|old| unseated.remove(&old.id)).collect();
    let kept = (members == body.members).then(|| Arc::clone(body));
    let is_full = body.is_full && members.len() == body.members.len();
    Group { members, kept, is_full }
}

fn seat(groups: &mut Vec<Group>, member: Member) {
    // Each group with room, whether it changes, and its place: the last of those that change, or else the last of all.
    let with_room = groups.iter().enumerate().filter(|(_, group)| group.has_room_for(1));
    match with_room.map(|(place, group)| (group.kept.is_none(), place)).max() {
        Some((_, place)) => {
            if let Some(group) = groups.get_mut(place) {
                group.members.push(member);
                group.kept = None;
            }
        }
        None => groups.push(Group { members: vec![member], kept: None, is_full: false }),
    }
}

impl Group {
    fn has_room_for(&self, n: usize) -> bool {
        !self.is_full && self.members.len() + n <= RULES_PER_MODULE_MAX
    }
}

/// A group, and a small one that changes and fits into it.
fn two_to_join(groups: &[Group]) -> Option<(usize, usize)> {
    let is_small = |group: &Group| group.kept.is_none() && !group.is_full && group.members.len() < SMALL;
    let from = groups.iter().rposition(is_small)?;
    let n_members = groups.get(from)?.members.len();
    let into = groups.iter().position(|group| group.has_room_for(n_members))?;
    // It finds itself when there is no other: only when nothing stands before it.
    (into < from).then_some((into, from))
}
