//! evalexpr: a tree per rule, over a context that borrows the fields.

use evalexpr::{Context, EvalexprError, EvalexprResult, Node, Value, build_operator_tree};
use tollgate_benches::shape::{Shape, WINDOWS, WORDS};

use crate::contestant::Peer;
use crate::facts::{Facts, Patterns};
use crate::matched::Matched;

pub(crate) struct Evalexpr {
    rules: Vec<Node>,
    patterns: Patterns,
}

impl Peer for Evalexpr {
    const NAME: &'static str = "evalexpr";
    const REMARK: &'static str = "trees built once, a context of our own that lends the values, its own `contains` for \
        lists. Has patterns only as a function that compiles them at each call: the host searches each once per \
        transaction. Under the AGPL";

    fn prepare(rules: &[Shape]) -> anyhow::Result<Self> {
        let trees = rules.iter().map(|rule| Ok(build_operator_tree(&expression(*rule))?));
        Ok(Self { rules: trees.collect::<anyhow::Result<_>>()?, patterns: Patterns::new(rules)? })
    }

    fn judge(&mut self, facts: &Facts<'_>, matched: &mut Matched) -> anyhow::Result<()> {
        let fields = Fields::new(facts, &self.patterns);
        for (rule_index, rule) in self.rules.iter().enumerate() {
            matched.note(rule_index, rule.eval_boolean_with_context(&fields)?);
        }
        Ok(())
    }
}

fn expression(rule: Shape) -> String {
    match rule {
        Shape::Comparison { limit, risk, currency } => {
            format!("amount > {limit}.0 && risk >= {risk}.0 && currency == {currency:?}")
        }
        Shape::List { status, countries } => {
            let quoted = countries.map(|country| format!("{country:?}")).join(", ");
            format!("status != {status:?} && contains(({quoted}), country)")
        }
        Shape::Pattern { word } => format!("found{word}"),
        Shape::Aggregate { window, limit } => format!("count{window} > {limit}.0"),
    }
}

struct Fields {
    amount: Value,
    risk: Value,
    currency: Value,
    status: Value,
    country: Value,
    counts: [Value; WINDOWS.len()],
    found: [Value; WORDS.len()],
}

impl Fields {
    fn new(facts: &Facts<'_>, patterns: &Patterns) -> Self {
        Self {
            amount: Value::Float(facts.amount),
            risk: Value::Float(facts.risk),
            currency: Value::String(facts.currency.to_owned()),
            status: Value::String(facts.status.to_owned()),
            country: Value::String(facts.country.to_owned()),
            counts: facts.counts.map(Value::Float),
            found: patterns.search(facts.description).map(Value::Boolean),
        }
    }
}

impl Context for Fields {
    type NumericTypes = evalexpr::DefaultNumericTypes;

    fn get_value(&self, identifier: &str) -> Option<&Value> {
        let [count0, count1, count2, count3] = &self.counts;
        let [found0, found1, found2, found3, found4] = &self.found;
        Some(match identifier {
            "amount" => &self.amount,
            "risk" => &self.risk,
            "currency" => &self.currency,
            "status" => &self.status,
            "country" => &self.country,
            "count0" => count0,
            "count1" => count1,
            "count2" => count2,
            "count3" => count3,
            "found0" => found0,
            "found1" => found1,
            "found2" => found2,
            "found3" => found3,
            "found4" => found4,
            _ => return None,
        })
    }

    fn call_function(&self, identifier: &str, _: &Value) -> EvalexprResult<Value> {
        Err(EvalexprError::FunctionIdentifierNotFound(identifier.to_owned()))
    }

    fn are_builtin_functions_disabled(&self) -> bool {
        false
    }

    fn set_builtin_functions_disabled(&mut self, _: bool) -> EvalexprResult<()> {
        Err(EvalexprError::BuiltinFunctionsCannotBeDisabled)
    }
}
