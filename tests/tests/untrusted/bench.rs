//! Evaluates uploads in process, with the service's evaluator and sandbox.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value as Json;
use tollgate_engine::evaluation::Evaluator;
use tollgate_engine::registry::{BoundRule, Lists, RuleSet};
use tollgate_engine::sandbox::Execution;
use tollgate_engine::sandbox::{AdmissionRefusal, AdmittedModule, CheckedModule, Sandbox};
use tollgate_history::History;
use tollgate_model::assessment::RuleOutcome;
use tollgate_model::calendar::{ZoneData, unknown_zone};
use tollgate_model::instruction::Grant;
use tollgate_model::instruction::{
    ContentDigest, Instruction, InstructionId, InstructionRecord, InstructionSource,
};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_tests::interruption::uninterrupted;

use super::guest;

/// A sandbox, a history with one transaction, and an evaluator.
pub(crate) struct Bench {
    sandbox: Sandbox,
    history: History,
    evaluator: Evaluator,
    transaction: Arc<Transaction>,
    number: Sequence,
}

/// The checks that a module failed.
pub(crate) type Refused = Vec<String>;

impl Bench {
    pub(crate) fn new() -> Self {
        Self::executing(Execution::Compiled)
    }

    pub(crate) fn executing(execution: Execution) -> Self {
        // Services beside it compile modules at a low priority and in limited time.
        rustix::process::nice(19).unwrap();
        let sandbox = Sandbox::executing(execution).unwrap();
        let history = History::new();
        let transaction = parsed(&guest::transaction("judged"));
        let number = history.admit(Arc::clone(&transaction), |number| number);
        Self { evaluator: Evaluator::new(sandbox.clone()), sandbox, history, transaction, number }
    }

    /// Creates a rule from an uploaded module.
    pub(crate) fn rule(&self, number: usize, bytes: &[u8]) -> Result<Arc<BoundRule>, Refused> {
        let module = admitted(&self.sandbox, bytes)?;
        let manifest = module.manifest.clone();
        let entry = manifest.rules.first().cloned().unwrap();
        let instruction = Instruction {
            record: Arc::new(InstructionRecord {
                owner: None,
                id: InstructionId(i64::try_from(number).unwrap() + 1),
                name: entry.name.clone(),
                script: None,
                source: InstructionSource::Upload,
                module: bytes.to_vec(),
                created_at: DateTime::<Utc>::UNIX_EPOCH,
                updated_at: DateTime::<Utc>::UNIX_EPOCH,
                quarantine: None,
                origin: None,
            }),
            entry,
            checked: None,
            digest: ContentDigest::of_bytes(bytes),
            abi_version: manifest.abi_version,
            cost: manifest.cost,
            warnings: Vec::new(),
        };
        let bound = BoundRule::bind(Arc::new(instruction), module, &self.history);
        bound.map(Arc::new).map_err(|_| vec!["needs".to_owned()])
    }

    /// Returns these modules as a rule set.
    pub(crate) fn rule_set(&self, modules: &[Vec<u8>]) -> Result<Arc<RuleSet>, Refused> {
        let rules = modules.iter().enumerate().map(|(number, bytes)| self.rule(number, bytes));
        Ok(Arc::new(RuleSet::new(1, rules.collect::<Result<_, _>>()?, Lists::default())))
    }

    /// Returns the outcome of each rule for the single transaction.
    pub(crate) fn outcomes(&mut self, rule_set: &Arc<RuleSet>) -> Vec<RuleOutcome> {
        uninterrupted(|| self.evaluator.evaluate(rule_set, &self.transaction, self.number).of_each())
            .expect("a module ran out of time")
    }
}

fn admitted(sandbox: &Sandbox, bytes: &[u8]) -> Result<AdmittedModule, Refused> {
    let upload = CheckedModule::check(bytes, Grant::default()).map_err(checks)?;
    if unknown_zone(&upload.manifest.needs, &ZoneData::built_in()).is_some() {
        return Err(vec!["manifest".to_owned()]);
    }
    upload.compile_here(sandbox, bytes).map_err(checks)
}

fn checks(refusal: AdmissionRefusal) -> Refused {
    refusal.findings.into_iter().map(|finding| finding.check.to_owned()).collect()
}

fn parsed(json: &Json) -> Arc<Transaction> {
    let (transaction, _) =
        Transaction::parse(json.to_string().as_bytes(), DateTime::<Utc>::UNIX_EPOCH).unwrap();
    Arc::new(transaction)
}
