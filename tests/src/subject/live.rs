//! Rules run by the service's evaluator, either in separate modules or fused into bodies.

use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value as Json;
use tollgate_compiler::CheckedRule;
use tollgate_engine::evaluation::Evaluator;
use tollgate_engine::fusion;
use tollgate_engine::registry::{Lists, RuleSet};
use tollgate_engine::sandbox::Sandbox;
use tollgate_history::History;
use tollgate_model::assessment::RuleOutcome;
use tollgate_model::instruction::RuleOwner;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::rules;
use crate::generator;
use crate::interruption::uninterrupted;
use crate::oracle::Subject;

/// Installs the rules first, then accepts and evaluates each transaction.
#[derive(Debug)]
pub struct Live {
    sandbox: Sandbox,
    lists: Lists,
}

/// Like [`Live`], with bodies that combine as many rules as possible.
#[derive(Debug)]
pub struct Fused {
    sandbox: Sandbox,
    lists: Lists,
    /// Statistics of the bodies.
    pub fared: Fared,
}

/// Statistics of fused bodies.
#[derive(Debug, Default, Clone, Copy)]
pub struct Fared {
    /// Number of bodies built.
    pub n_bodies: usize,
    /// Number of rules in them.
    pub n_rules: usize,
    /// Number of fields in which several patterns are searched at once.
    pub n_joint_searches: usize,
    /// Number of failures on a transaction.
    pub n_failed: usize,
    /// Number of skipped runs, because the transaction contained nothing the rules search for.
    pub n_spared: usize,
}

/// Accepts the whole stream first, then installs the rules and evaluates the transactions in reverse, each as of its
/// sequence number. Series are therefore built late, and transactions accepted later must stay invisible.
#[derive(Debug)]
pub struct Late {
    sandbox: Sandbox,
    lists: Lists,
}

impl Live {
    /// Creates a subject with the lists of the generator.
    #[must_use]
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, lists: rules::lists(&generator::lists()) }
    }
}

impl Late {
    /// Creates a subject with the lists of the generator.
    #[must_use]
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, lists: rules::lists(&generator::lists()) }
    }
}

impl Fused {
    /// Creates a subject with the lists of the generator.
    #[must_use]
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, lists: rules::lists(&generator::lists()), fared: Fared::default() }
    }
}

impl Subject for Live {
    fn judge(&mut self, rules: &[CheckedRule], stream: &[Json]) -> anyhow::Result<Vec<Vec<bool>>> {
        let history = History::new();
        let mut bench = Bench::new(&self.sandbox, &self.lists, rules, &history)?;
        bench.judge_all(&history, stream)
    }
}

impl Subject for Fused {
    fn judge(&mut self, rules: &[CheckedRule], stream: &[Json]) -> anyhow::Result<Vec<Vec<bool>>> {
        let history = History::new();
        let bench = Bench::new(&self.sandbox, &self.lists, rules, &history)?;
        let mut bench = bench.fused(&self.sandbox);
        ensure!(rules.len() < 2 || bench.rule_set.alone.is_empty(), "every rule is in a body");
        let answers = bench.judge_all(&history, stream)?;
        self.fared.n_bodies += bench.rule_set.bodies.len();
        self.fared.n_rules += bench.rule_set.bodies.iter().map(|body| body.rule_indices.len()).sum::<usize>();
        let searches = bench.rule_set.bodies.iter().flat_map(|body| &body.asker.bound.searches);
        self.fared.n_joint_searches += searches.filter(|search| search.search("").is_some()).count();
        self.fared.n_failed += bench.n_bodies_failed;
        self.fared.n_spared += bench.n_bodies_spared;
        Ok(answers)
    }
}

impl Subject for Late {
    fn judge(&mut self, rules: &[CheckedRule], stream: &[Json]) -> anyhow::Result<Vec<Vec<bool>>> {
        let history = History::new();
        let accepted: Vec<(Arc<Transaction>, Sequence)> = rules::transactions(stream)?
            .into_iter()
            .map(|transaction| {
                let number = history.admit(Arc::clone(&transaction), |number| number);
                (transaction, number)
            })
            .collect();
        let mut bench = Bench::new(&self.sandbox, &self.lists, rules, &history)?;
        let mut answers = accepted
            .iter()
            .rev()
            .map(|(transaction, number)| bench.judge(transaction, *number))
            .collect::<anyhow::Result<Vec<_>>>()?;
        answers.reverse();
        Ok(answers)
    }
}

/// A rule set and its evaluator.
struct Bench {
    evaluator: Evaluator,
    rule_set: Arc<RuleSet>,
    n_bodies_failed: usize,
    n_bodies_spared: usize,
}

impl Bench {
    fn new(
        sandbox: &Sandbox,
        lists: &Lists,
        rules: &[CheckedRule],
        history: &History,
    ) -> anyhow::Result<Self> {
        // Hundreds of generated rules may cost more than one owner may use.
        let owner = RuleOwner { fuel: u64::MAX, ..RuleOwner::default() };
        let bound = rules
            .iter()
            .enumerate()
            .map(|(number, rule)| {
                let bound = rules::bind(number, rule, sandbox, history)?;
                Ok(Arc::new(bound.owned_by(Some(&owner))))
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let rule_set = Arc::new(RuleSet::new(1, bound, lists.clone()));
        let evaluator = Evaluator::new(sandbox.clone());
        Ok(Self { evaluator, rule_set, n_bodies_failed: 0, n_bodies_spared: 0 })
    }

    /// Returns the same rules and lists, with bodies.
    fn fused(self, sandbox: &Sandbox) -> Self {
        let rules: Vec<_> = self.rule_set.rules.iter().map(|in_force| Arc::clone(&in_force.rule)).collect();
        let bodies = fusion::bodies(&|bytes| sandbox.admit(bytes), &[], &rules);
        let rule_set = RuleSet::fused(self.rule_set.version, rules, &bodies, self.rule_set.lists.clone());
        rule_set.compile_searches();
        Self { rule_set: Arc::new(rule_set), ..self }
    }

    /// Accepts and evaluates each transaction of a stream.
    fn judge_all(&mut self, history: &History, stream: &[Json]) -> anyhow::Result<Vec<Vec<bool>>> {
        rules::transactions(stream)?
            .into_iter()
            .map(|transaction| {
                let number = history.admit(Arc::clone(&transaction), |number| number);
                self.judge(&transaction, number)
            })
            .collect()
    }

    fn judge(&mut self, transaction: &Arc<Transaction>, number: Sequence) -> anyhow::Result<Vec<bool>> {
        let outcomes = uninterrupted(|| {
            let outcomes = self.evaluator.evaluate(&self.rule_set, transaction, number).of_each();
            self.n_bodies_failed += self.evaluator.n_bodies_failed();
            self.n_bodies_spared += self.evaluator.n_bodies_spared();
            outcomes
        });
        outcomes.context("generated rules ran out of time")?.into_iter().map(matched).collect()
    }
}

fn matched(outcome: RuleOutcome) -> anyhow::Result<bool> {
    match outcome {
        RuleOutcome::Matched | RuleOutcome::MatchedSaying(_) => Ok(true),
        RuleOutcome::NotMatched => Ok(false),
        RuleOutcome::Failed(failure) => bail!("a generated rule failed: {failure}"),
    }
}
