//! Gathers what the new rules of a tree ask the history, before the tree is taken, so that other changes do not wait.

use std::collections::HashSet;
use std::sync::Arc;

use tollgate_compiler::emit::emit;
use tollgate_compiler::{CompileOptions, compile};
use tollgate_engine::sandbox::manifest_of;
use tollgate_guest_abi::Manifest;
use tollgate_history::{AggregateQuery, PreviousQuery};
use tollgate_model::instruction::{ContentDigest, RuleContent};

use crate::intake::{IntakeDeps, RuleTree, estimating, granting};

/// Queries that the history answers while this is kept.
#[derive(Debug, Default)]
pub(super) struct GatheredQueries {
    aggregates: Vec<Arc<AggregateQuery>>,
    previous: Vec<Arc<PreviousQuery>>,
}

/// Activates the queries of the rules of a tree that are not in force. What fails here fails again, and is reported, when
/// the tree is taken.
///
/// `refused` has the paths of files that are refused already. They are gathered when they are taken after all.
pub(super) fn gather(deps: &IntakeDeps, tree: &RuleTree, refused: &HashSet<String>) -> GatheredQueries {
    let current = deps.registry.current();
    let in_force: HashSet<ContentDigest> = current
        .rules
        .iter()
        .map(|in_force| ContentDigest::of_bytes(in_force.rule.instruction.record.written()))
        .collect();
    let mut gathered = GatheredQueries::default();
    for file in &tree.rules {
        let Ok(content) = &file.content else { continue };
        if refused.contains(&file.path) || in_force.contains(&ContentDigest::of_bytes(content.bytes())) {
            continue;
        }
        let Some(manifest) = manifest_in(content) else { continue };
        let is_granted = granting::check(deps, &tree.origin.source(&file.path), &manifest).is_ok();
        if !is_granted || estimating::check_room(deps, &current.lists, &manifest).is_err() {
            continue;
        }
        let Manifest { needs, semantics, .. } = &manifest;
        for spec in &needs.aggregates {
            gathered.aggregates.extend(deps.history.aggregate(spec, *semantics));
        }
        for spec in &needs.previous {
            gathered.previous.extend(deps.history.previous(spec, *semantics));
        }
    }
    gathered
}

/// Returns the manifest of a module, or of the module of a script; `None` if there is none.
fn manifest_in(content: &RuleContent) -> Option<Manifest> {
    match content {
        RuleContent::Module(module) => manifest_of(module).ok().flatten(),
        RuleContent::Script(script) => {
            let rule = compile(script, &CompileOptions::default()).rule?;
            Some(emit(std::slice::from_ref(&rule)).ok()?.manifest)
        }
    }
}
