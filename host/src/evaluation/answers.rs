//! The host's answers to the import table, given from the facts.

use tollgate_guest_abi::imports::test;

use crate::assessment::RuleFailure;
use crate::evaluation::facts::Facts;
use crate::pattern::Pattern;
use crate::registry::Membership;
use crate::sandbox::HostCalls;
use crate::transaction::{Value, relate};

impl HostCalls for Facts {
    fn number(&mut self, field: u32) -> Result<f64, RuleFailure> {
        Ok(self.field(field)?.number)
    }

    fn symbol(&mut self, field: u32) -> Result<i32, RuleFailure> {
        let Some(symbol) = self.field(field)?.symbol else { return Ok(-1) };
        let place = self.rule()?.symbols.iter().position(|&known| known == symbol);
        Ok(place.and_then(|place| i32::try_from(place).ok()).unwrap_or(-1))
    }

    fn kind(&mut self, field: u32) -> Result<i32, RuleFailure> {
        Ok(self.field(field)?.kind)
    }

    fn relate(&mut self, left: u32, right: u32) -> Result<i32, RuleFailure> {
        Ok(relate(self.value(left)?, self.value(right)?).bits())
    }

    fn relate_text(&mut self, field: u32, text: u32) -> Result<i32, RuleFailure> {
        Ok(relate(self.value(field)?, Value::Text(self.text(text)?)).bits())
    }

    fn member(&mut self, field: u32, list: u32) -> Result<i32, RuleFailure> {
        let (value, current) = (self.value(field)?, self.transaction()?);
        Ok(answer(self.membership(list)?.of_value(value, current, &self.rule_set().lists)))
    }

    fn member_number(&mut self, number: f64, list: u32) -> Result<i32, RuleFailure> {
        Ok(answer(self.membership(list)?.of_number(number, self.transaction()?, &self.rule_set().lists)))
    }

    fn member_text(&mut self, text: u32, list: u32) -> Result<i32, RuleFailure> {
        let (value, current) = (Value::Text(self.text(text)?), self.transaction()?);
        Ok(answer(self.membership(list)?.of_value(value, current, &self.rule_set().lists)))
    }

    fn matches(&mut self, field: u32, pattern: u32) -> Result<i32, RuleFailure> {
        Ok(answer(self.pattern(pattern)?.search(self.value(field)?)))
    }

    fn matches_number(&mut self, number: f64, pattern: u32) -> Result<i32, RuleFailure> {
        Ok(answer(self.pattern(pattern)?.search_number(number)))
    }

    fn aggregate(&mut self, aggregate: u32) -> Result<f64, RuleFailure> {
        Facts::aggregate(self, aggregate)
    }

    fn previous(&mut self, previous: u32) -> Result<i32, RuleFailure> {
        Facts::previous(self, previous).map(i32::from)
    }

    fn time_part(&mut self, time: u32) -> Result<f64, RuleFailure> {
        Facts::time_part(self, time)
    }
}

impl Facts {
    fn text(&self, slot: u32) -> Result<&str, RuleFailure> {
        let needs = &self.rule()?.rule.module.manifest.needs;
        needs.texts.get(slot as usize).map(String::as_str).ok_or(RuleFailure::HostCall)
    }

    fn membership(&self, slot: u32) -> Result<&Membership, RuleFailure> {
        self.rule()?.rule.lists.get(slot as usize).ok_or(RuleFailure::HostCall)
    }

    fn pattern(&self, slot: u32) -> Result<&Pattern, RuleFailure> {
        self.rule()?.rule.patterns.get(slot as usize).ok_or(RuleFailure::HostCall)
    }
}

/// `None` when the value or the list is missing.
const fn answer(holds: Option<bool>) -> i32 {
    match holds {
        None => test::MISSING,
        Some(false) => test::NO,
        Some(true) => test::YES,
    }
}
