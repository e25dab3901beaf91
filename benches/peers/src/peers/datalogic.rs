//! JSONLogic: a compiled rule each, evaluated over one value in an arena that is reset after each transaction.

use anyhow::anyhow;
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::{DataValue, Engine, Logic};
use serde_json::{Value, json};
use tollgate_benches::shape::Shape;

use crate::contestant::Peer;
use crate::facts::{COUNTS, FOUND, Facts, Patterns};
use crate::matched::Matched;

pub(crate) struct Datalogic {
    engine: Engine,
    rules: Vec<Logic>,
    patterns: Patterns,
    arena: Bump,
}

impl Peer for Datalogic {
    const NAME: &'static str = "datalogic-rs";
    const REMARK: &'static str = "compiled once, one input in a reused arena passed by reference. Has no patterns: \
        the host searches each once per transaction";

    fn prepare(rules: &[Shape]) -> anyhow::Result<Self> {
        let engine = Engine::new();
        let compiled =
            rules.iter().map(|rule| engine.compile(logic(*rule)?.to_string().as_str()).map_err(failed));
        let rules_compiled = compiled.collect::<anyhow::Result<_>>()?;
        Ok(Self { engine, rules: rules_compiled, patterns: Patterns::new(rules)?, arena: Bump::new() })
    }

    fn judge(&mut self, facts: &Facts<'_>, matched: &mut Matched) -> anyhow::Result<()> {
        {
            let input = input(facts, &self.patterns, &self.arena);
            for (rule_index, rule) in self.rules.iter().enumerate() {
                let answer = self.engine.evaluate(rule, input, &self.arena).map_err(failed)?;
                matched.note(rule_index, answer.as_bool() == Some(true));
            }
        }
        self.arena.reset();
        Ok(())
    }
}

fn logic(rule: Shape) -> anyhow::Result<Value> {
    Ok(match rule {
        Shape::Comparison { limit, risk, currency } => json!({ "and": [
            { ">": [{ "var": "amount" }, limit] },
            { ">=": [{ "var": "risk" }, risk] },
            { "===": [{ "var": "currency" }, currency] },
        ] }),
        Shape::List { status, countries } => json!({ "and": [
            { "!==": [{ "var": "status" }, status] },
            { "in": [{ "var": "country" }, countries] },
        ] }),
        Shape::Pattern { word } => json!({ "var": FOUND.get(word) }),
        Shape::Aggregate { window, limit } => json!({ ">": [{ "var": COUNTS.get(window) }, limit] }),
    })
}

/// The most frequently read fields come first, because lookup is linear.
fn input<'a>(facts: &Facts<'a>, patterns: &Patterns, arena: &'a Bump) -> &'a DataValue<'a> {
    let mut fields = [("", DataValue::null()); 5 + COUNTS.len() + FOUND.len()];
    let read = [
        ("amount", DataValue::from_f64(facts.amount)),
        ("risk", DataValue::from_f64(facts.risk)),
        ("currency", DataValue::from_borrowed_str(facts.currency)),
        ("status", DataValue::from_borrowed_str(facts.status)),
        ("country", DataValue::from_borrowed_str(facts.country)),
    ];
    let counts = COUNTS.into_iter().zip(facts.counts.map(DataValue::from_f64));
    let found = FOUND.into_iter().zip(patterns.search(facts.description).map(DataValue::bool));
    fields.iter_mut().zip(read.into_iter().chain(counts).chain(found)).for_each(|(to, from)| *to = from);
    let fields = arena.alloc_slice_copy(&fields);
    arena.alloc(DataValue::Object(fields))
}

fn failed(error: datalogic_rs::Error) -> anyhow::Error {
    anyhow!("{error}")
}
