//! Rules as the service runs them today: each in a module of its own, by the service's evaluator.

use std::sync::Arc;

use anyhow::bail;
use serde_json::Value as Json;
use tollgate::assessment::{Outcome, RuleFailure};
use tollgate::evaluation::Evaluator;
use tollgate::history::History;
use tollgate::registry::{Lists, RuleSet};
use tollgate::sandbox::Sandbox;
use tollgate::sequence::Sequence;
use tollgate::transaction::Transaction;
use tollgate_compiler::CheckedRule;

use super::rules;
use crate::generator;
use crate::oracle::Subject;

/// How often in a row a rule may run out of time: on a machine with other work a thread can be stopped for longer than
/// a rule has, and that is no difference.
pub(super) const INTERRUPTIONS_MAX: usize = 20;

/// Rules are in force first; then each transaction is accepted and judged.
#[derive(Debug)]
pub struct Live {
    sandbox: Sandbox,
    lists: Lists,
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

impl Subject for Live {
    fn judge(&mut self, rules: &[CheckedRule], stream: &[Json]) -> anyhow::Result<Vec<Vec<bool>>> {
        let history = History::new();
        let mut bench = Bench::new(&self.sandbox, &self.lists, rules, &history)?;
        rules::transactions(stream)?
            .into_iter()
            .map(|transaction| {
                let number = history.admit(Arc::clone(&transaction), |number| number);
                bench.judge(&transaction, number)
            })
            .collect()
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
            .map(|(number, rule)| {
                rules::bind(number, std::slice::from_ref(rule), sandbox, history).map(Arc::new)
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let rule_set = Arc::new(RuleSet::new(1, bound, lists.clone()));
        Ok(Self { evaluator: Evaluator::new(sandbox.clone()), rule_set })
    }

    fn judge(&mut self, transaction: &Arc<Transaction>, number: Sequence) -> anyhow::Result<Vec<bool>> {
        for _ in 0..INTERRUPTIONS_MAX {
            let outcomes = self.evaluator.evaluate(&self.rule_set, transaction, number);
            if !outcomes.contains(&Outcome::Failed(RuleFailure::Timeout)) {
                return outcomes.into_iter().map(matched).collect();
            }
        }
        bail!("generated rules ran out of time {INTERRUPTIONS_MAX} times in a row")
    }
}

fn matched(outcome: Outcome) -> anyhow::Result<bool> {
    match outcome {
        Outcome::Matched | Outcome::MatchedSaying(_) => Ok(true),
        Outcome::NotMatched => Ok(false),
        Outcome::Failed(failure) => bail!("a generated rule failed: {failure}"),
    }
}
