//! Determines which rules were in force in each version, and checks the acknowledged rule changes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::durability::exchange::Exchange;
use crate::durability::rules::{THRESHOLDS, is_marker};
use crate::durability::stored::{Instruction, Member, Stored};

pub(super) struct RulesInForce {
    versions: BTreeSet<u64>,
    instructions: BTreeMap<i64, Instruction>,
    members: Vec<Member>,
}

impl RulesInForce {
    pub(super) fn from_stored(stored: &Stored) -> Self {
        let instructions: Vec<Instruction> = stored.rows("instructions", 0);
        Self {
            versions: stored.rows("versions", 0).into_iter().collect(),
            instructions: instructions.into_iter().map(|instruction| (instruction.id, instruction)).collect(),
            members: stored.rows("members", 0),
        }
    }

    pub(super) fn has_version(&self, version: u64) -> bool {
        self.versions.contains(&version)
    }

    pub(super) fn name_of(&self, id: i64) -> Option<String> {
        Some(self.instructions.get(&id)?.name.clone())
    }

    /// Returns the names of the always-matching rules of a version.
    pub(super) fn markers_at(&self, version: u64) -> impl Iterator<Item = String> {
        let is_in_force = move |member: &&Member| {
            member.since <= version && member.until.is_none_or(|until| version < until)
        };
        let members = self.members.iter().filter(is_in_force);
        let names =
            members.filter_map(|member| Some(self.instructions.get(&member.instruction_id)?.name.clone()));
        names.filter(|name| is_marker(name))
    }

    /// Checks that saved rules are present, removed rules are gone, and nothing else changed.
    pub(super) fn faults<'e>(&self, exchanges: impl Iterator<Item = &'e Exchange>) -> Vec<String> {
        let mut faults = Vec::new();
        let mut names: BTreeSet<String> = THRESHOLDS.iter().map(|rule| rule.name()).collect();
        let mut removals: BTreeSet<i64> = BTreeSet::new();
        for exchange in exchanges {
            let id = exchange.path.strip_prefix("/instructions/").and_then(|id| id.parse().ok());
            removals.extend(id);
            if exchange.path == "/compile-and-save-instruction" {
                let script = exchange.body.split_once("rule ").map_or("", |(_, script)| script);
                names.extend(script.split(' ').next().map(str::to_owned));
            }
            if let Some(answer) = exchange.granted() {
                faults.extend(self.broken_word(exchange, id, &answer.text));
            }
        }
        for Instruction { id, name, removed_in } in self.instructions.values() {
            if !names.contains(name) {
                faults.push(format!("nobody saved the rule {name}"));
            }
            if removed_in.is_some() && !removals.contains(id) {
                faults.push(format!("nobody removed the rule {name}"));
            }
        }
        faults
    }

    fn broken_word(&self, exchange: &Exchange, id: Option<i64>, text: &str) -> Option<String> {
        let instruction = |id: Option<i64>| self.instructions.get(&id?);
        if id.is_some() {
            let is_gone = instruction(id)?.removed_in.is_some();
            return (!is_gone).then(|| format!("{} was removed, and is in force", exchange.path));
        }
        if exchange.path != "/compile-and-save-instruction" {
            return None;
        }
        let saved: Value = serde_json::from_str(text).ok()?;
        let id = saved.get("id").and_then(Value::as_i64);
        instruction(id).is_none().then(|| format!("a rule was saved, and is lost: {text}"))
    }
}
