//! Rego: one rule that produces a set, compiled to bytecode, on one reused machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context as _;
use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::vm::RegoVM;
use regorus::{Engine, Rc, Value};
use tollgate_benches::shape::Shape;
use tollgate_benches::twins::pattern;

use crate::contestant::Peer;
use crate::facts::{COUNTS, Facts};
use crate::matched::Matched;

const ENTRY: &str = "data.rules.matched";

pub(crate) struct Regorus {
    machine: RegoVM,
    names: Vec<Value>,
}

impl Peer for Regorus {
    const NAME: &'static str = "regorus";
    const REMARK: &'static str = "a set rule over one input, compiled to its bytecode, the machine reused. Its own \
        `regex.match`, which remembers what it compiled. No limit of instructions";

    fn prepare(rules: &[Shape]) -> anyhow::Result<Self> {
        let mut source = String::from("package rules\n\nimport rego.v1\n\n");
        for (rule_index, rule) in rules.iter().enumerate() {
            writeln!(source, "matched contains {rule_index} if {{ {} }}", body(*rule))?;
        }
        let mut engine = Engine::new();
        engine.add_policy("rules.rego".to_owned(), source)?;
        let policy = engine.compile_with_entrypoint(&Rc::from(ENTRY))?;
        let program =
            Compiler::compile_from_policy(&policy, &[ENTRY]).map_err(|error| anyhow::anyhow!("{error}"))?;
        let mut machine = RegoVM::new();
        machine.load_program(program);
        machine.set_max_instructions(usize::MAX);
        let names = ["amount", "risk", "currency", "status", "country", "description"];
        Ok(Self { machine, names: names.into_iter().chain(COUNTS).map(Value::from).collect() })
    }

    fn judge(&mut self, facts: &Facts<'_>, matched: &mut Matched) -> anyhow::Result<()> {
        self.machine.set_input(self.input(facts));
        let answer = self.machine.execute().context("regorus")?;
        for rule_index in answer.as_set()?.iter() {
            matched.note(usize::try_from(rule_index.as_u64()?)?, true);
        }
        Ok(())
    }
}

impl Regorus {
    fn input(&self, facts: &Facts<'_>) -> Value {
        let numbers = [facts.amount, facts.risk].map(Value::from);
        let texts = [facts.currency, facts.status, facts.country, facts.description].map(Value::from);
        let values = numbers.into_iter().chain(texts).chain(facts.counts.map(Value::from));
        let object: BTreeMap<Value, Value> = self.names.iter().cloned().zip(values).collect();
        Value::from(object)
    }
}

fn body(rule: Shape) -> String {
    match rule {
        Shape::Comparison { limit, risk, currency } => {
            format!("input.amount > {limit}; input.risk >= {risk}; input.currency == {currency:?}")
        }
        Shape::List { status, countries } => {
            let quoted = countries.map(|country| format!("{country:?}")).join(", ");
            format!("input.status != {status:?}; input.country in {{{quoted}}}")
        }
        Shape::Pattern { word } => format!("regex.match({:?}, input.description)", pattern(word)),
        Shape::Aggregate { window, limit } => format!("input.count{window} > {limit}"),
    }
}
