//! All rules of a slice in one module, asked through the plainest possible answers: nothing is kept between questions.

use std::sync::Arc;

use anyhow::bail;
use serde_json::Value as Json;
use tollgate::assessment::RuleFailure;
use tollgate::history::{Answered, History};
use tollgate::registry::{Lists, Rule};
use tollgate::sandbox::{HostCalls, Runner, Sandbox};
use tollgate::sequence::Sequence;
use tollgate::transaction::{Transaction, Value, relate};
use tollgate_compiler::CheckedRule;
use tollgate_guest_abi::imports::{Call, kind, test};

use super::live::INTERRUPTIONS_MAX;
use super::rules;
use crate::generator;
use crate::oracle::Subject;

/// The slice as one module.
#[derive(Debug)]
pub struct Fused {
    sandbox: Sandbox,
    lists: Lists,
}

impl Fused {
    /// With the lists of the generator.
    #[must_use]
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, lists: rules::lists(&generator::lists()) }
    }
}

impl Subject for Fused {
    fn judge(&mut self, rules: &[CheckedRule], stream: &[Json]) -> anyhow::Result<Vec<Vec<bool>>> {
        let history = History::new();
        let module = Arc::new(rules::bind(0, rules, &self.sandbox, &history)?);
        let desk = Desk { module: Arc::clone(&module), lists: self.lists.clone(), open: None };
        let mut runner = Runner::new(&self.sandbox, desk, [&*module.module].into_iter())?;
        rules::transactions(stream)?
            .into_iter()
            .map(|transaction| {
                let number = history.admit(Arc::clone(&transaction), |number| number);
                runner.host()?.open = Some((transaction, number));
                let bits = run(&mut runner)?;
                Ok((0..rules.len()).map(|bit| bits >> bit & 1 == 1).collect())
            })
            .collect()
    }
}

/// The answer of the module, interruptions aside.
fn run(runner: &mut Runner<Desk>) -> anyhow::Result<u64> {
    for _ in 0..INTERRUPTIONS_MAX {
        match runner.run(0) {
            Err(RuleFailure::Timeout) => {}
            answer => return Ok(answer?.bits),
        }
    }
    bail!("the module ran out of time {INTERRUPTIONS_MAX} times in a row")
}

/// Answers the questions of one module about one transaction.
struct Desk {
    module: Arc<Rule>,
    lists: Lists,
    open: Option<(Arc<Transaction>, Sequence)>,
}

type Answer<T> = Result<T, RuleFailure>;

/// What stands behind a slot.
fn behind<T>(needs: &[T], slot: u32) -> Answer<&T> {
    needs.get(slot as usize).ok_or(RuleFailure::HostCall)
}

const fn answered(holds: Option<bool>) -> i32 {
    match holds {
        None => test::MISSING,
        Some(false) => test::NO,
        Some(true) => test::YES,
    }
}

impl Desk {
    fn open(&self) -> Answer<(&Transaction, Sequence)> {
        let (transaction, number) = self.open.as_ref().ok_or(RuleFailure::Internal)?;
        Ok((transaction, *number))
    }

    fn value(&self, field: u32) -> Answer<Value<'_>> {
        Ok(self.open()?.0.value(behind(&self.module.module.manifest.needs.fields, field)?))
    }

    fn own_text(&self, text: u32) -> Answer<&str> {
        behind(&self.module.module.manifest.needs.texts, text).map(String::as_str)
    }
}

impl HostCalls for Desk {
    fn number(&mut self, field: u32) -> Answer<f64> {
        Ok(self.value(field)?.as_f64())
    }

    fn symbol(&mut self, field: u32) -> Answer<i32> {
        let text = match self.value(field)? {
            Value::Text(text) => text,
            Value::Boolean(true) => "true",
            Value::Boolean(false) => "false",
            _ => return Ok(-1),
        };
        let place = self.module.module.manifest.needs.texts.iter().position(|known| known == text);
        Ok(place.and_then(|place| i32::try_from(place).ok()).unwrap_or(-1))
    }

    fn kind(&mut self, field: u32) -> Answer<i32> {
        Ok(match self.value(field)? {
            Value::Missing => kind::MISSING,
            Value::Boolean(_) => kind::BOOLEAN,
            Value::Number(_) => kind::NUMBER,
            Value::Text(_) => kind::TEXT,
            Value::Time(_) => kind::TIME,
            Value::List(_) | Value::Object(_) => kind::STRUCTURE,
        })
    }

    fn relate(&mut self, left: u32, right: u32) -> Answer<i32> {
        Ok(relate(self.value(left)?, self.value(right)?).bits())
    }

    fn relate_text(&mut self, field: u32, text: u32) -> Answer<i32> {
        Ok(relate(self.value(field)?, Value::Text(self.own_text(text)?)).bits())
    }

    fn member(&mut self, field: u32, list: u32) -> Answer<i32> {
        let list = behind(&self.module.lists, list)?;
        Ok(answered(list.of_value(self.value(field)?, self.open()?.0, &self.lists)))
    }

    fn member_number(&mut self, number: f64, list: u32) -> Answer<i32> {
        let list = behind(&self.module.lists, list)?;
        Ok(answered(list.of_number(number, self.open()?.0, &self.lists)))
    }

    fn member_text(&mut self, text: u32, list: u32) -> Answer<i32> {
        let list = behind(&self.module.lists, list)?;
        Ok(answered(list.of_value(Value::Text(self.own_text(text)?), self.open()?.0, &self.lists)))
    }

    fn matches(&mut self, field: u32, pattern: u32) -> Answer<i32> {
        Ok(answered(behind(&self.module.patterns, pattern)?.search(self.value(field)?)))
    }

    fn matches_number(&mut self, number: f64, pattern: u32) -> Answer<i32> {
        Ok(answered(behind(&self.module.patterns, pattern)?.search_number(number)))
    }

    fn aggregate(&mut self, aggregate: u32, rows_max: u64) -> Answer<Answered<f64>> {
        let (transaction, number) = self.open()?;
        let question = behind(&self.module.aggregates, aggregate)?;
        question.answer_within(transaction, number, &self.lists, rows_max).map_err(|_| RuleFailure::Lookup)
    }

    fn previous(&mut self, previous: u32, rows_max: u64) -> Answer<Answered<bool>> {
        let (transaction, number) = self.open()?;
        let question = behind(&self.module.previous, previous)?;
        question.answer_within(transaction, number, &self.lists, rows_max).map_err(|_| RuleFailure::Lookup)
    }

    fn time_part(&mut self, time: u32) -> Answer<f64> {
        let field = &behind(&self.module.module.manifest.needs.times, time)?.field;
        Ok(behind(&self.module.times, time)?.of(self.open()?.0.value(field)))
    }

    fn text(&mut self, _field: u32) -> Answer<Option<&str>> {
        // No script copies a text.
        Err(RuleFailure::HostCall)
    }

    fn bytes_read(&mut self, _call: Call, _slots: [u32; 2]) -> Answer<usize> {
        Ok(0)
    }
}
