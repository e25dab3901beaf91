//! Rhai: all rules as one array of conditions, compiled to bytecode, on one reused machine.

use rhai::grain::{Compiler, Program, Vm};
use rhai::{Dynamic, Engine, OptimizationLevel, Scope};
use tollgate_benches::shape::Shape;

use crate::contestant::Peer;
use crate::facts::{COUNTS, FOUND, Facts, Patterns};
use crate::matched::Matched;

pub(crate) struct Rhai {
    program: Program<'static>,
    machine: Vm<'static>,
    patterns: Patterns,
}

impl Peer for Rhai {
    const NAME: &'static str = "rhai";
    const REMARK: &'static str = "one array holds all rules, compiled to the bytecode of its feature `grain`, the machine \
        reused, one scope per transaction. Has no patterns: the host searches each once per transaction. No limit of \
        operations";

    fn prepare(rules: &[Shape]) -> anyhow::Result<Self> {
        let mut engine = Engine::new();
        engine.set_optimization_level(OptimizationLevel::Full);
        let conditions: Vec<String> = rules.iter().map(|rule| condition(*rule)).collect();
        let ast = engine.compile_expression(format!("[{}]", conditions.join(",\n")))?;
        let program = Compiler::new().compile(&ast);
        anyhow::ensure!(program.residual_count() == 0, "rhai left a part of the rules uncompiled");
        // The machine borrows the engine, and both live until the process exits.
        let engine: &'static Engine = Box::leak(Box::new(engine));
        Ok(Self { program, machine: Vm::new(engine), patterns: Patterns::new(rules)? })
    }

    fn judge(&mut self, facts: &Facts<'_>, matched: &mut Matched) -> anyhow::Result<()> {
        let mut scope = scope(facts, &self.patterns);
        let answers = self.machine.eval_with_scope(&mut scope, &self.program).map_err(failed)?;
        let answers = answers.into_array().map_err(|kind| anyhow::anyhow!("rhai answered {kind}"))?;
        for (rule_index, answer) in answers.iter().enumerate() {
            matched.note(rule_index, answer.as_bool() == Ok(true));
        }
        Ok(())
    }
}

fn condition(rule: Shape) -> String {
    match rule {
        Shape::Comparison { limit, risk, currency } => {
            format!("amount > {limit}.0 && risk >= {risk}.0 && currency == {currency:?}")
        }
        Shape::List { status, countries } => format!("status != {status:?} && country in {countries:?}"),
        Shape::Pattern { word } => format!("found{word}"),
        Shape::Aggregate { window, limit } => format!("count{window} > {limit}.0"),
    }
}

/// Converts an error to text, because Rhai's errors are not `Send`.
fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}

/// Scopes are searched from the end, so the most frequently read fields come last.
fn scope(facts: &Facts<'_>, patterns: &Patterns) -> Scope<'static> {
    let mut scope = Scope::with_capacity(14);
    for (name, found) in FOUND.into_iter().zip(patterns.search(facts.description)) {
        scope.push_constant_dynamic(name, found.into());
    }
    for (name, count) in COUNTS.into_iter().zip(facts.counts) {
        scope.push_constant_dynamic(name, count.into());
    }
    for (name, text) in [("country", facts.country), ("status", facts.status), ("currency", facts.currency)] {
        scope.push_constant_dynamic(name, Dynamic::from(text.to_owned()));
    }
    scope.push_constant_dynamic("risk", facts.risk.into());
    scope.push_constant_dynamic("amount", facts.amount.into());
    scope
}
