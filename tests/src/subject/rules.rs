//! Converts checked rules to executable rules, and JSON to transactions.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value as Json;
use tollgate_compiler::CheckedRule;
use tollgate_compiler::emit::emit;
use tollgate_engine::registry::{BoundRule, ListInForce, Lists};
use tollgate_engine::sandbox::Sandbox;
use tollgate_history::History;
use tollgate_model::instruction::{
    ContentDigest, Instruction, InstructionId, InstructionRecord, InstructionSource,
};
use tollgate_model::transaction::Transaction;

/// Compiles a rule to its own module and binds it to a history under a number.
///
/// # Errors
/// Returns an error if it cannot be compiled or the history does not support a lookup.
pub fn bind(
    number: usize,
    rule: &CheckedRule,
    sandbox: &Sandbox,
    history: &History,
) -> anyhow::Result<BoundRule> {
    bind_within(number, rule, sandbox, history, u64::MAX)
}

/// Does the same as [`bind`], with a fuel limit per run.
///
/// # Errors
/// Returns an error if it cannot be compiled or the history does not support a lookup.
pub fn bind_within(
    number: usize,
    rule: &CheckedRule,
    sandbox: &Sandbox,
    history: &History,
    fuel: u64,
) -> anyhow::Result<BoundRule> {
    let emitted = emit(std::slice::from_ref(rule))?;
    let module = sandbox.admit(&emitted.bytes)?.within(fuel);
    let digest = ContentDigest::of_bytes(&emitted.bytes);
    let instruction = Instruction {
        record: Arc::new(InstructionRecord {
            owner: None,
            id: InstructionId(i64::try_from(number)? + 1),
            name: rule.entry.name.clone(),
            script: Some(String::new()),
            source: InstructionSource::Api,
            module: emitted.bytes,
            created_at: DateTime::<Utc>::UNIX_EPOCH,
            updated_at: DateTime::<Utc>::UNIX_EPOCH,
            quarantine: None,
            origin: None,
        }),
        entry: rule.entry.clone(),
        checked: Some(Arc::new(rule.clone())),
        digest,
        abi_version: emitted.manifest.abi_version,
        cost: emitted.manifest.cost,
        warnings: Vec::new(),
    };
    Ok(BoundRule::bind(Arc::new(instruction), module, history)?)
}

/// Parses the transactions of a stream.
///
/// # Errors
/// Returns an error if one is not a valid transaction.
pub fn transactions(stream: &[Json]) -> anyhow::Result<Vec<Arc<Transaction>>> {
    stream
        .iter()
        .map(|json| {
            let (transaction, _) =
                Transaction::parse(json.to_string().as_bytes(), DateTime::<Utc>::UNIX_EPOCH)?;
            Ok(Arc::new(transaction))
        })
        .collect()
}

/// Returns the named lists in the service's form.
pub(super) fn lists(entries: &BTreeMap<String, Vec<String>>) -> Lists {
    let mut lists = Lists::default();
    for (name, entries) in entries {
        lists.insert(name, ListInForce::new(&entries.join("\n"), InstructionSource::Api));
    }
    lists
}
