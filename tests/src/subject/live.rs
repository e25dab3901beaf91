//! Rules as the service's evaluator runs them: each in a module of its own, or put together in bodies.

use std::sync::Arc;

use anyhow::{bail, ensure};
use serde_json::Value as Json;
use tollgate_compiler::CheckedRule;
use tollgate_engine::evaluation::Evaluator;
use tollgate_engine::fusion;
use tollgate_engine::registry::{Lists, RuleSet};
use tollgate_engine::sandbox::Sandbox;
use tollgate_history::History;
use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::rules;
use crate::generator;
use crate::oracle::Subject;

/// How often in a row a rule may run out of time: on a machine with other work a thread can be stopped for longer than
/// a rule has, and that is no difference.
const INTERRUPTIONS_MAX: usize = 20;

/// Rules are in force first; then each transaction is accepted and judged.
#[derive(Debug)]
pub struct Live {
    sandbox: Sandbox,
    lists: Lists,
}

/// As [`Live`], with bodies that answer for as many rules as fit.
#[derive(Debug)]
pub struct Fused {
    sandbox: Sandbox,
    lists: Lists,
    /// Bodies that were made, rules in them, and how often one failed or was spared.
    pub fared: Fared,
}

/// How bodies fared.
#[derive(Debug, Default, Clone, Copy)]
pub struct Fared {
    /// How many were made.
    pub n_bodies: usize,
    /// How many rules they answered for.
    pub n_rules: usize,
    /// In how many fields they searched several patterns at once.
    pub n_joint_searches: usize,
    /// How often one failed on a transaction.
    pub n_failed: usize,
    /// How often one did not run, since the transaction had nothing that its rules look for.
    pub n_spared: usize,
}

/// The whole stream is accepted first; then the rules come into force and judge it backwards, each transaction as of its
/// own number: series are built after the fact, and what was accepted later must stay unseen.
#[derive(Debug)]
pub struct Late {
    sandbox: Sandbox,
    lists: Lists,
}

impl Live {
    /// With the lists of the generator.
    #[must_use]
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, lists: rules::lists(&generator::lists()) }
    }
}

impl Late {
    /// With the lists of the generator.
    #[must_use]
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, lists: rules::lists(&generator::lists()) }
    }
}

impl Fused {
    /// With the lists of the generator.
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
        self.fared.n_rules += bench.rule_set.bodies.iter().map(|body| body.places.len()).sum::<usize>();
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
        let bound = rules
            .iter()
            .enumerate()
            .map(|(number, rule)| rules::bind(number, rule, sandbox, history).map(Arc::new))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let rule_set = Arc::new(RuleSet::new(1, bound, lists.clone()));
        let evaluator = Evaluator::new(sandbox.clone());
        Ok(Self { evaluator, rule_set, n_bodies_failed: 0, n_bodies_spared: 0 })
    }

    /// The same rules and lists, with bodies.
    fn fused(self, sandbox: &Sandbox) -> Self {
        let rules: Vec<_> = self.rule_set.rules.iter().map(|in_force| Arc::clone(&in_force.rule)).collect();
        let bodies = fusion::bodies(sandbox, &[], &rules);
        let rule_set = RuleSet::fused(self.rule_set.version, rules, &bodies, self.rule_set.lists.clone());
        rule_set.hasten();
        Self { rule_set: Arc::new(rule_set), ..self }
    }

    /// Each transaction of a stream is accepted, and judged.
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
        for _ in 0..INTERRUPTIONS_MAX {
            let outcomes = self.evaluator.evaluate(&self.rule_set, transaction, number).of_each();
            self.n_bodies_failed += self.evaluator.n_bodies_failed();
            self.n_bodies_spared += self.evaluator.n_bodies_spared();
            if !outcomes.contains(&RuleOutcome::Failed(RuleFailure::Timeout)) {
                return outcomes.into_iter().map(matched).collect();
            }
        }
        bail!("generated rules ran out of time {INTERRUPTIONS_MAX} times in a row")
    }
}

fn matched(outcome: RuleOutcome) -> anyhow::Result<bool> {
    match outcome {
        RuleOutcome::Matched | RuleOutcome::MatchedSaying(_) => Ok(true),
        RuleOutcome::NotMatched => Ok(false),
        RuleOutcome::Failed(failure) => bail!("a generated rule failed: {failure}"),
    }
}
