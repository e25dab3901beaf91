//! Tollgate itself, as the service runs it.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;

use chrono::Utc;
use tollgate_benches::twins::TwinRule;
use tollgate_engine::artifacts::{Artifacts, Compiler};
use tollgate_engine::evaluation::Evaluator;
use tollgate_engine::fusion;
use tollgate_engine::registry::{Lists, RuleSet};
use tollgate_engine::sandbox::Sandbox;
use tollgate_history::History;
use tollgate_model::assessment::RuleOutcome;
use tollgate_model::calendar::ZoneData;
use tollgate_model::instruction::{InstructionId, InstructionSource};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_rules::intake::{Draft, Identity, KnownNames};

use crate::contestant::Contestant;
use crate::matched::Matched;

/// The rules in fused modules, run by the service's evaluator.
pub(crate) struct Fused {
    evaluator: Evaluator,
    rule_set: Arc<RuleSet>,
    as_of: Sequence,
}

impl Fused {
    pub(crate) const NAME: &'static str = "Tollgate, fused";
    pub(crate) const REMARK: &'static str = "in the sandbox, with fuel and epochs, by the service's own evaluator, which \
        reads the fields and asks the history itself";

    pub(crate) fn new(rules: &[TwinRule], history: &History, as_of: Sequence) -> anyhow::Result<Self> {
        let (sandbox, lists) = (Sandbox::new()?, Lists::default());
        let artifacts = Artifacts::without_cache(&sandbox, Compiler::in_this_process());
        let bound = (1..).zip(rules).map(|(number, rule)| {
            let (zones, currencies) = (ZoneData::built_in(), BTreeSet::new());
            let known = KnownNames { lists: &lists, zones: &zones, currencies: &currencies };
            let draft = Draft::compile(&artifacts, known, rule.script.clone())?;
            let identity = Identity::new(InstructionId(number), InstructionSource::Api, Utc::now());
            Ok(Arc::new(draft.bind(history, identity)?))
        });
        let bound: Vec<_> = bound.collect::<anyhow::Result<_>>()?;
        let bodies = fusion::bodies(&|bytes| sandbox.admit(bytes), &[], &bound);
        let rule_set = Arc::new(RuleSet::fused(1, bound, &bodies, lists));
        rule_set.compile_searches();
        Ok(Self { evaluator: Evaluator::new(sandbox), rule_set, as_of })
    }
}

impl Contestant for Fused {
    fn judge(&mut self, transaction: &Arc<Transaction>) -> anyhow::Result<()> {
        black_box(self.evaluator.evaluate(&self.rule_set, transaction, self.as_of));
        Ok(())
    }

    fn matched(&mut self, transaction: &Arc<Transaction>) -> anyhow::Result<Matched> {
        let outcomes = self.evaluator.evaluate(&self.rule_set, transaction, self.as_of);
        let mut matched = Matched::none_of(self.rule_set.rules.len());
        for (rule_index, outcome) in outcomes.noted() {
            anyhow::ensure!(*outcome == RuleOutcome::Matched, "rule {rule_index}: {outcome:?}");
            matched.note(rule_index, true);
        }
        Ok(matched)
    }
}
