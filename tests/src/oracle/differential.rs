//! Compares the oracle with other implementations on the same batches.

use anyhow::Context as _;
use serde_json::Value as Json;
use tollgate_compiler::{CheckedRule, Compilation, CompileOptions, render};

use super::Subject;
use crate::generator::Batch;

/// Maximum number of differences that are shrunk and described.
const DESCRIBED_MAX: usize = 5;

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of evaluations of a rule on a transaction with a history.
    pub n_cases: usize,
    /// Number of matches according to the oracle. It should be far from zero and from `n_cases`, or the comparison
    /// proves little.
    pub n_matches: usize,
    /// Cases in which a subject disagrees.
    pub n_differences: usize,
    /// The first differences, each with the smallest history that shows it.
    pub described: Vec<String>,
}

/// Runs batches of consecutive seeds until this many cases are evaluated.
///
/// # Errors
/// Returns an error if a generated script does not compile or a subject cannot evaluate.
pub fn run(
    oracle: &mut dyn Subject,
    subjects: &mut [(&str, &mut dyn Subject)],
    batch_of: fn(u64) -> Batch,
    first_seed: u64,
    n_cases: usize,
) -> anyhow::Result<Report> {
    let mut report = Report::default();
    for seed in first_seed.. {
        if report.n_cases >= n_cases {
            break;
        }
        let batch = batch_of(seed);
        let rules = batch.scripts.iter().map(|script| compile(script)).collect::<anyhow::Result<Vec<_>>>()?;
        let expected = oracle.judge(&rules, &batch.transactions)?;
        report.n_cases += rules.len() * batch.transactions.len();
        report.n_matches += expected.iter().flatten().filter(|matched| **matched).count();
        for (name, subject) in subjects.iter_mut() {
            let given = subject
                .judge(&rules, &batch.transactions)
                .with_context(|| format!("{name}, batch {seed}"))?;
            for (transaction, rule) in differences(&expected, &given) {
                report.n_differences += 1;
                if report.described.len() < DESCRIBED_MAX {
                    let case = Case::new(&batch, &rules, transaction, rule).context("no such case")?;
                    report
                        .described
                        .push(format!("{name}, batch {seed}\n{}", case.shrunk(oracle, *subject)?));
                }
            }
        }
    }
    Ok(report)
}

/// Compiles a generated script; all of them must compile.
fn compile(script: &str) -> anyhow::Result<CheckedRule> {
    let Compilation { rule, diagnostics } = tollgate_compiler::compile(script, &CompileOptions::default());
    rule.with_context(|| {
        format!("a generated script does not compile:\n{}", render(script, "generated", &diagnostics, false))
    })
}

/// Returns the positions (transaction, rule) at which two results differ.
fn differences(expected: &[Vec<bool>], given: &[Vec<bool>]) -> Vec<(usize, usize)> {
    let mut positions = Vec::new();
    for (transaction, (expected, given)) in expected.iter().zip(given).enumerate() {
        for (rule, matched) in expected.iter().enumerate() {
            if given.get(rule) != Some(matched) {
                positions.push((transaction, rule));
            }
        }
    }
    positions
}

/// One rule, and a stream whose last transaction differs.
struct Case<'a> {
    script: &'a str,
    rule: &'a [CheckedRule],
    stream: Vec<Json>,
}

impl<'a> Case<'a> {
    fn new(batch: &'a Batch, rules: &'a [CheckedRule], transaction: usize, rule: usize) -> Option<Self> {
        Some(Self {
            script: batch.scripts.get(rule)?,
            rule: rules.get(rule..=rule)?,
            stream: batch.transactions.get(..=transaction)?.to_vec(),
        })
    }

    /// Removes every transaction that the difference does not need, and describes the rest.
    fn shrunk(mut self, oracle: &mut dyn Subject, subject: &mut dyn Subject) -> anyhow::Result<String> {
        for index in (0..self.stream.len().saturating_sub(1)).rev() {
            let left_out = self.stream.remove(index);
            if !self.differs(oracle, subject)? {
                self.stream.insert(index, left_out);
            }
        }
        let alone = self.differs(oracle, subject)?;
        let matched = oracle.judge(self.rule, &self.stream)?.pop() == Some(vec![true]);
        let stream: Vec<String> = self.stream.iter().map(Json::to_string).collect();
        Ok(format!(
            "oracle: {matched}; differs with the rule alone: {alone}\n{}\n{:?}\n{}\n",
            self.script,
            self.rule,
            stream.join("\n")
        ))
    }

    fn differs(&self, oracle: &mut dyn Subject, subject: &mut dyn Subject) -> anyhow::Result<bool> {
        let expected = oracle.judge(self.rule, &self.stream)?;
        Ok(expected.last() != subject.judge(self.rule, &self.stream)?.last())
    }
}
