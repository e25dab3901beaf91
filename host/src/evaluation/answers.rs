//! The host's answers to the import table, given from the facts.

use tollgate_guest_abi::imports::Call;
use tollgate_guest_abi::limits::PATTERN_HAYSTACK_BYTES_MAX;

use crate::assessment::RuleFailure;
use crate::evaluation::facts::Facts;
use crate::evaluation::searches::answer;
use crate::history::Answered;
use crate::pattern::Pattern;
use crate::registry::{Compared, Membership};
use crate::sandbox::HostCalls;
use crate::transaction::{Value, relate};

impl HostCalls for Facts {
    fn number(&mut self, field: u32) -> Result<f64, RuleFailure> {
        Ok(self.field(field)?.number)
    }

    fn symbol(&mut self, field: u32) -> Result<i32, RuleFailure> {
        let Some(symbol) = self.field(field)?.symbol else { return Ok(-1) };
        Ok(self.asker()?.texts.slot_of(symbol))
    }

    fn kind(&mut self, field: u32) -> Result<i32, RuleFailure> {
        Ok(self.field(field)?.kind)
    }

    fn relate(&mut self, left: u32, right: u32) -> Result<i32, RuleFailure> {
        Ok(relate(self.value(left)?, self.value(right)?).bits())
    }

    fn relate_text(&mut self, field: u32, text: u32) -> Result<i32, RuleFailure> {
        Ok(relate(self.value(field)?, Value::Text(self.own_text(text)?)).bits())
    }

    fn member(&mut self, field: u32, list: u32) -> Result<i32, RuleFailure> {
        self.find_in_list(field, list)
    }

    fn member_number(&mut self, number: f64, list: u32) -> Result<i32, RuleFailure> {
        Ok(answer(self.membership(list)?.of_number(number, self.transaction()?, &self.rule_set().lists)))
    }

    fn member_text(&mut self, text: u32, list: u32) -> Result<i32, RuleFailure> {
        let (value, current) = (Value::Text(self.own_text(text)?), self.transaction()?);
        Ok(answer(self.membership(list)?.of_value(value, current, &self.rule_set().lists)))
    }

    fn matches(&mut self, field: u32, pattern: u32) -> Result<i32, RuleFailure> {
        self.find(field, pattern)
    }

    fn matches_number(&mut self, number: f64, pattern: u32) -> Result<i32, RuleFailure> {
        Ok(answer(self.pattern(pattern)?.search_number(number)))
    }

    fn told(&mut self, aggregate: u32) -> Result<Option<f64>, RuleFailure> {
        Facts::told(self, aggregate)
    }

    fn aggregate(&mut self, aggregate: u32, rows_max: u64) -> Result<Answered<f64>, RuleFailure> {
        Facts::aggregate(self, aggregate, rows_max)
    }

    fn previous(&mut self, previous: u32, rows_max: u64) -> Result<Answered<bool>, RuleFailure> {
        Facts::previous(self, previous, rows_max)
    }

    fn time_part(&mut self, time: u32) -> Result<f64, RuleFailure> {
        Facts::time_part(self, time)
    }

    fn text(&mut self, field: u32) -> Result<Option<&str>, RuleFailure> {
        Ok(match self.value(field)? {
            Value::Text(text) => Some(text),
            Value::Boolean(boolean) => Some(if boolean { "true" } else { "false" }),
            _ => None,
        })
    }

    fn bytes_read(&mut self, call: Call, slots: [u32; 2]) -> Result<usize, RuleFailure> {
        let [first, second] = slots;
        Ok(match call {
            Call::Symbol => self.length(first)?,
            Call::RelateText => self.length(first)? + self.own_text(second)?.len(),
            // It copies no more than there is room for.
            Call::Text => self.length(first)?.min(second as usize),
            Call::Relate => self.length(first)? + self.length(second)?,
            Call::Member => self.bytes_compared(self.length(first)?, second)?,
            Call::MemberNumber => self.bytes_compared(0, second)?,
            Call::MemberText => self.bytes_compared(self.own_text(first)?.len(), second)?,
            Call::Matches => {
                let n_bytes = self.searched(first)?.min(PATTERN_HAYSTACK_BYTES_MAX);
                n_bytes.saturating_mul(self.pattern(second)?.weight())
            }
            Call::MatchesNumber => NUMBER_TEXT_BYTES_MAX.saturating_mul(self.pattern(second)?.weight()),
            _ => 0,
        })
    }
}

/// What an element of an array counts as.
const ELEMENT_BYTES: usize = 16;
/// The longest plain decimal text of a double: a sign, a zero, a point and 325 digits.
const NUMBER_TEXT_BYTES_MAX: usize = 328;
/// What finding the value behind a path counts as.
const PATH_BYTES: usize = 256;

impl Facts {
    /// How long the text in a field is, in bytes; 0 when there is none.
    fn length(&self, slot: u32) -> Result<usize, RuleFailure> {
        Ok(match self.value(slot)? {
            Value::Text(text) => text.len(),
            _ => 0,
        })
    }

    /// How many bytes of a field a pattern is searched in, at most.
    fn searched(&self, slot: u32) -> Result<usize, RuleFailure> {
        Ok(match self.value(slot)? {
            Value::Text(text) => text.len(),
            Value::Number(_) | Value::Boolean(_) | Value::Time(_) => NUMBER_TEXT_BYTES_MAX,
            Value::Missing | Value::List(_) | Value::Object(_) => 0,
        })
    }

    /// What it takes to look for a value of this length in a list: the value is compared with one after the other of those
    /// that the transaction holds.
    fn bytes_compared(&self, n_bytes: usize, list: u32) -> Result<usize, RuleFailure> {
        let Compared { n_elements, n_paths } = self.membership(list)?.compared(self.transaction()?);
        let of_each = n_bytes.saturating_add(ELEMENT_BYTES);
        let of_elements = n_elements.saturating_mul(of_each);
        Ok(of_elements.saturating_add(n_paths.saturating_mul(PATH_BYTES)).saturating_add(n_bytes))
    }

    fn own_text(&self, slot: u32) -> Result<&str, RuleFailure> {
        let needs = &self.asker()?.bound.module.manifest.needs;
        needs.texts.get(slot as usize).map(String::as_str).ok_or(RuleFailure::HostCall)
    }

    fn membership(&self, slot: u32) -> Result<&Membership, RuleFailure> {
        self.asker()?.bound.lists.get(slot as usize).map(|list| &**list).ok_or(RuleFailure::HostCall)
    }

    fn pattern(&self, slot: u32) -> Result<&Pattern, RuleFailure> {
        self.asker()?.bound.patterns.get(slot as usize).ok_or(RuleFailure::HostCall)
    }
}
