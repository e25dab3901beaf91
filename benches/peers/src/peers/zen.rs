//! GoRules expressions: compiled bytecode per rule, with one machine and one scope per transaction.

use rust_decimal::Decimal;
use tollgate_benches::shape::Shape;
use zen_expression::expression::Standard;
use zen_expression::variable::{Symbol, VariableMap};
use zen_expression::vm::VM;
use zen_expression::{Expression, Scope, Variable, compile_expression};

use crate::contestant::Peer;
use crate::facts::{COUNTS, FOUND, Facts, Patterns};
use crate::matched::Matched;

pub(crate) struct Zen {
    rules: Vec<Expression<Standard>>,
    patterns: Patterns,
    machine: VM,
}

impl Peer for Zen {
    const NAME: &'static str = "zen-expression";
    const REMARK: &'static str = "bytecode compiled once, the machine reused, one scope per transaction. Its numbers are \
        decimals: exact, which doubles are not. Its `matches` compiles the pattern at each call and it calls no host \
        functions: the host searches each pattern once per transaction";

    fn prepare(rules: &[Shape]) -> anyhow::Result<Self> {
        let compiled = rules.iter().map(|rule| Ok(compile_expression(&expression(*rule))?));
        Ok(Self {
            rules: compiled.collect::<anyhow::Result<_>>()?,
            patterns: Patterns::new(rules)?,
            machine: VM::new(),
        })
    }

    fn judge(&mut self, facts: &Facts<'_>, matched: &mut Matched) -> anyhow::Result<()> {
        let scope = Scope::new(variables(facts, &self.patterns));
        for (rule_index, rule) in self.rules.iter().enumerate() {
            let answer = rule.evaluate_with_scope(&scope, &mut self.machine)?;
            matched.note(rule_index, answer.as_bool() == Some(true));
        }
        Ok(())
    }
}

fn expression(rule: Shape) -> String {
    match rule {
        Shape::Comparison { limit, risk, currency } => {
            format!("amount > {limit} and risk >= {risk} and currency == {currency:?}")
        }
        Shape::List { status, countries } => format!("status != {status:?} and country in {countries:?}"),
        Shape::Pattern { word } => format!("found{word}"),
        Shape::Aggregate { window, limit } => format!("count{window} > {limit}"),
    }
}

fn variables(facts: &Facts<'_>, patterns: &Patterns) -> Variable {
    let text = |text: &str| Variable::String(Symbol::from(text));
    #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
    let whole = |number: f64| Variable::Number(Decimal::from(number as i64));
    let fields = [
        ("amount", Variable::Number(Decimal::new(facts.hundredths(), 2))),
        ("risk", whole(facts.risk)),
        ("currency", text(facts.currency)),
        ("status", text(facts.status)),
        ("country", text(facts.country)),
    ];
    let counts = COUNTS.into_iter().zip(facts.counts.map(whole));
    let found = FOUND.into_iter().zip(patterns.search(facts.description).map(Variable::Bool));
    let mut map = VariableMap::with_capacity(14);
    for (name, value) in fields.into_iter().chain(counts).chain(found) {
        map.insert(Symbol::borrowed(name), value);
    }
    Variable::from_object(map)
}
