//! Common Expression Language: a program per rule, with variables resolved without a copy.

use std::sync::Arc;

use cel::common::types::{CelBool, CelDouble, CelString};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use cel::{Context, Env, Program, Value};
use tollgate_benches::shape::{Shape, WINDOWS, WORDS};

use crate::contestant::Peer;
use crate::facts::{Facts, Patterns};
use crate::matched::Matched;

pub(crate) struct Cel {
    env: Arc<Env>,
    rules: Vec<Program>,
    patterns: Patterns,
}

impl Peer for Cel {
    const NAME: &'static str = "cel";
    const REMARK: &'static str = "programs compiled once, a resolver lends it the variables. Its `matches` compiles the \
        pattern at each call: the host searches each once per transaction";

    fn prepare(rules: &[Shape]) -> anyhow::Result<Self> {
        let env = Arc::new(Env::stdlib());
        let compiled = rules.iter().map(|rule| Ok(env.compile(&expression(*rule))?));
        let programs = compiled.collect::<anyhow::Result<_>>()?;
        Ok(Self { env, rules: programs, patterns: Patterns::new(rules)? })
    }

    fn judge(&mut self, facts: &Facts<'_>, matched: &mut Matched) -> anyhow::Result<()> {
        let variables = Variables::new(facts, &self.patterns);
        let mut context = Context::with_env(Arc::clone(&self.env));
        context.set_variable_resolver(&variables);
        for (rule_index, rule) in self.rules.iter().enumerate() {
            matched.note(rule_index, rule.execute(&context)? == Value::Bool(true));
        }
        Ok(())
    }
}

fn expression(rule: Shape) -> String {
    match rule {
        Shape::Comparison { limit, risk, currency } => {
            format!("amount > {limit}.0 && risk >= {risk}.0 && currency == {currency:?}")
        }
        Shape::List { status, countries } => format!("status != {status:?} && country in {countries:?}"),
        Shape::Pattern { word } => format!("found{word}"),
        Shape::Aggregate { window, limit } => format!("count{window} > {limit}.0"),
    }
}

struct Variables<'t> {
    amount: CelDouble,
    risk: CelDouble,
    currency: CelString<'t>,
    status: CelString<'t>,
    country: CelString<'t>,
    counts: [CelDouble; WINDOWS.len()],
    found: [CelBool; WORDS.len()],
}

impl<'t> Variables<'t> {
    fn new(facts: &Facts<'t>, patterns: &Patterns) -> Self {
        Self {
            amount: facts.amount.into(),
            risk: facts.risk.into(),
            currency: facts.currency.into(),
            status: facts.status.into(),
            country: facts.country.into(),
            counts: facts.counts.map(CelDouble::from),
            found: patterns.search(facts.description).map(CelBool::from),
        }
    }
}

impl VariableResolver for Variables<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let [count0, count1, count2, count3] = &self.counts;
        let [found0, found1, found2, found3, found4] = &self.found;
        let value: &(dyn Val + 'b) = match variable {
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
        };
        Some(CowVal::Borrowed(value))
    }
}
