//! From checked rules to rules that can run, and from JSON to transactions.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use serde_json::Value as Json;
use tollgate::history::History;
use tollgate::instruction::{
    ContentDigest, Instruction, InstructionId, InstructionRecord, InstructionSource,
};
use tollgate::registry::{ListInForce, Lists, Rule};
use tollgate::sandbox::Sandbox;
use tollgate::transaction::Transaction;
use tollgate_compiler::CheckedRule;
use tollgate_compiler::emit::emit;

/// One module of a slice of rules, bound to a history under a number.
pub(super) fn bind(
    number: usize,
    slice: &[CheckedRule],
    sandbox: &Sandbox,
    history: &History,
) -> anyhow::Result<Rule> {
    let emitted = emit(slice)?;
    let module = sandbox.admit(&emitted.bytes)?;
    let entry = emitted.manifest.rules.first().cloned().context("a module of no rule")?;
    let instruction = Instruction {
        record: InstructionRecord {
            id: InstructionId(i64::try_from(number)? + 1),
            name: entry.name.clone(),
            script: Some(String::new()),
            source: InstructionSource::Api,
            module: emitted.bytes,
            created_at: DateTime::<Utc>::UNIX_EPOCH,
            updated_at: DateTime::<Utc>::UNIX_EPOCH,
            quarantine: None,
        },
        entry,
        rule: Json::Null,
        digest: ContentDigest::of(&[]),
        abi_version: emitted.manifest.abi_version,
        cost: emitted.manifest.cost,
        warnings: Vec::new(),
    };
    Ok(Rule::bind(Arc::new(instruction), module, history)?)
}

/// The transactions of a stream.
pub(super) fn transactions(stream: &[Json]) -> anyhow::Result<Vec<Arc<Transaction>>> {
    stream
        .iter()
        .map(|json| {
            let (transaction, _) =
                Transaction::parse(json.to_string().as_bytes(), DateTime::<Utc>::UNIX_EPOCH)?;
            Ok(Arc::new(transaction))
        })
        .collect()
}

/// Named lists as the service keeps them.
pub(super) fn lists(entries: &BTreeMap<String, Vec<String>>) -> Lists {
    let mut lists = Lists::default();
    for (name, entries) in entries {
        lists.insert(name, ListInForce::new(&entries.join("\n"), InstructionSource::Api));
    }
    lists
}
