//! Answers host calls from the facts of the current transaction.

use tollgate_guest_abi::Semantics;
use tollgate_guest_abi::imports::{Call, operand};
use tollgate_guest_abi::limits::PATTERN_HAYSTACK_BYTES_MAX;
use tollgate_history::{AggregateValue, CostedAnswer};
use tollgate_model::assessment::RuleFailure;
use tollgate_model::decimal::Decimal;
use tollgate_model::pattern::{CompiledPattern, NUMBER_BYTES_MAX};
use tollgate_model::transaction::{Transaction, Value, relate_in};

use crate::evaluation::exact_operand::ExactOperand;
use crate::evaluation::facts::{Facts, at};
use crate::evaluation::search_cache::answer;
use crate::evaluation::suspect_value::SuspectValue;
use crate::registry::{ComparedValues, ELEMENT_BYTES, ListMembership};
use crate::sandbox::{HistoryAnswer, HostCalls};

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
        let current = self.transaction()?;
        Ok(relate_in(current, self.value(left)?, self.value(right)?, Semantics::V1).bits())
    }

    fn relate_text(&mut self, field: u32, text: u32) -> Result<i32, RuleFailure> {
        let (value, text) = (self.value(field)?, Value::Text(self.own_text(text)?));
        Ok(relate_in(self.transaction()?, value, text, Semantics::V1).bits())
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

    fn comparable(&mut self, field: u32) -> Result<f64, RuleFailure> {
        Ok(self.field(field)?.comparable)
    }

    fn relate_operands(&mut self, left: u32, right: u32, fuel_max: u64) -> HistoryAnswer<i32> {
        let operands = [left, right];
        let left = self.operand(left, fuel_max)?;
        let right = self.operand(right, fuel_max.saturating_sub(left.fuel))?;
        let fuel = left.fuel.saturating_add(right.fuel);
        let relations = left.value.related_in(self.transaction()?, &right.value);
        let is_incomparable =
            !relations.have_order() && !left.value.is_missing() && !right.value.is_missing();
        let have_equality = left.value.is_text() && right.value.is_text();
        if is_incomparable {
            self.suspect_fields(operands, have_equality)?;
        }
        Ok(CostedAnswer { value: relations.bits(), fuel })
    }

    fn member_operand(&mut self, operand: u32, list: u32, fuel_max: u64) -> HistoryAnswer<i32> {
        let CostedAnswer { value, fuel } = self.operand(operand, fuel_max)?;
        Ok(CostedAnswer { value: answer(self.find_member(&value, list)?), fuel })
    }

    fn cached_aggregate(&mut self, aggregate: u32) -> Result<Option<AggregateValue>, RuleFailure> {
        Facts::cached_aggregate(self, aggregate)
    }

    fn aggregate(
        &mut self,
        aggregate: u32,
        fuel_max: u64,
    ) -> Result<CostedAnswer<AggregateValue>, RuleFailure> {
        Facts::aggregate(self, aggregate, fuel_max)
    }

    fn previous(&mut self, previous: u32, fuel_max: u64) -> Result<CostedAnswer<bool>, RuleFailure> {
        Facts::previous(self, previous, fuel_max)
    }

    fn time_part(&mut self, time: u32) -> Result<f64, RuleFailure> {
        Facts::time_part(self, time)
    }

    fn text(&mut self, field: u32) -> Result<Option<&str>, RuleFailure> {
        Ok(match self.value(field)? {
            Value::Text(text) => Some(text),
            Value::Caseless(text) => Some(text.sent),
            Value::Boolean(boolean) => Some(if boolean { "true" } else { "false" }),
            _ => None,
        })
    }

    fn bytes_read(&mut self, call: Call, slots: [u32; 2]) -> Result<usize, RuleFailure> {
        let [first, second] = slots;
        Ok(match call {
            Call::Symbol => self.length(first)?,
            Call::RelateOperands => self.bytes_of(first)?.saturating_add(self.bytes_of(second)?),
            Call::MemberOperand => self.bytes_compared(self.bytes_of(first)?, second)?,
            Call::RelateText => self.length(first)? + self.own_text(second)?.len(),
            // The call copies at most this many bytes.
            Call::Text => self.length(first)?.min(second as usize),
            Call::Relate => self.length(first)? + self.length(second)?,
            Call::Member => self.bytes_compared(self.length(first)?, second)?,
            Call::MemberNumber => self.bytes_compared(0, second)?,
            Call::MemberText => self.bytes_compared(self.own_text(first)?.len(), second)?,
            Call::Matches => {
                let n_bytes = self.searched(first)?.min(PATTERN_HAYSTACK_BYTES_MAX);
                n_bytes.saturating_mul(self.pattern(second)?.weight())
            }
            Call::MatchesNumber => NUMBER_BYTES_MAX.saturating_mul(self.pattern(second)?.weight()),
            _ => 0,
        })
    }

    fn price_of_reading(&mut self, call: Call, slots: [u32; 2]) -> Result<u64, RuleFailure> {
        let [first, second] = slots;
        Ok(match call {
            Call::Matches => {
                let (value, price) = self.priced_value(first)?;
                self.pattern(second)?.price_of(&value).saturating_add(price)
            }
            Call::MatchesNumber => self.pattern(second)?.price_of_number(),
            Call::RelateOperands => self.price_of(first)?.saturating_add(self.price_of(second)?),
            Call::MemberOperand => {
                let compared = self.price_compared(self.reading_of(first)?, second)? as u64;
                price_of_aggregate(first).saturating_add(compared)
            }
            Call::Number | Call::Kind | Call::Comparable | Call::Symbol => self.priced_value(first)?.1,
            Call::Relate => self.priced_value(first)?.1.saturating_add(self.priced_value(second)?.1),
            Call::RelateText => self.priced_value(first)?.1 + self.own_text(second)?.len() as u64,
            Call::Member => {
                let (value, price) = self.priced_value(first)?;
                let n_bytes = value.as_text().map_or(0, str::len);
                price.saturating_add(self.price_compared(n_bytes, second)? as u64)
            }
            Call::Text => self.priced_value(first)?.1,
            Call::TimePart => self.price_of_time(first)?,
            Call::MemberNumber => self.price_compared(0, second)? as u64,
            Call::MemberText => self.price_compared(self.own_text(first)?.len(), second)? as u64,
            _ => 0,
        })
    }
}

/// Cost of resolving a path, in bytes.
const PATH_BYTES: usize = 256;

/// The price of searching a list for a value of this length, in fuel. The value is compared with every element in the
/// transaction.
pub(super) fn price_compared(membership: &ListMembership, n_bytes: usize, current: &Transaction) -> usize {
    let compared = membership.compared(current);
    bytes_of_comparison(compared, n_bytes).saturating_add(compared.n_keys)
}

/// The cost of searching a list before there were prices, in bytes.
const fn bytes_of_comparison(compared: ComparedValues, n_bytes: usize) -> usize {
    let ComparedValues { n_elements, n_paths, .. } = compared;
    let of_elements = n_elements.saturating_mul(n_bytes.saturating_add(ELEMENT_BYTES));
    of_elements.saturating_add(n_paths.saturating_mul(PATH_BYTES)).saturating_add(n_bytes)
}

const fn is_aggregate(reference: u32) -> bool {
    operand::as_time(reference).is_none() && (reference % 4).cast_signed() == operand::AGGREGATE
}

/// The price of an aggregate among the operands of a comparison, in fuel.
const fn price_of_aggregate(reference: u32) -> u64 {
    if is_aggregate(reference) { Call::Aggregate.import().fuel } else { 0 }
}

impl Facts {
    /// Records those of two operands without an order that are fields. With `have_equality`, only fields that some test
    /// orders are recorded.
    #[cold]
    fn suspect_fields(&mut self, operands: [u32; 2], have_equality: bool) -> Result<(), RuleFailure> {
        for operand in operands {
            let is_field =
                operand % 4 == operand::FIELD.cast_unsigned() && operand::as_time(operand).is_none();
            if !is_field {
                continue;
            }
            let number = at(&self.asker()?.fields, operand / 4)?;
            let field = self.rule_set().fields.get(number).ok_or(RuleFailure::Internal)?;
            if !have_equality || self.rule_set().watch.is_ordered(field) {
                self.suspect(SuspectValue::Field(u32::try_from(number).unwrap_or(u32::MAX)));
            }
        }
        Ok(())
    }

    /// Returns the value of an operand, and its cost.
    fn operand(&self, reference: u32, fuel_max: u64) -> Result<CostedAnswer<ExactOperand<'_>>, RuleFailure> {
        if let Some(slot) = operand::as_time(reference) {
            let value = Value::of_time_part(self.part_of_time(slot)?);
            return Ok(CostedAnswer { value: ExactOperand::Value(value), fuel: 0 });
        }
        let (slot, kind) = (reference / 4, (reference % 4).cast_signed());
        let value = match kind {
            operand::FIELD => self.value(slot)?,
            operand::TEXT => Value::Text(self.own_text(slot)?),
            operand::NUMBER => {
                let number = Decimal::from_plain(self.own_text(slot)?);
                number.map_or(Value::Missing, Value::Number)
            }
            _ => {
                let CostedAnswer { value, fuel } = self.exact_aggregate(slot, fuel_max)?;
                return Ok(CostedAnswer { value: ExactOperand::Computed(value), fuel });
            }
        };
        Ok(CostedAnswer { value: ExactOperand::Value(value), fuel: 0 })
    }

    /// Upper bound of the bytes read for an operand. A history query counts as its fuel cost before there were prices.
    fn bytes_of(&self, reference: u32) -> Result<usize, RuleFailure> {
        let aggregate = if is_aggregate(reference) { Call::Aggregate.import().fuel_before_v4 } else { 0 };
        Ok(self.text_bytes_of(reference)?.saturating_add(usize::try_from(aggregate).unwrap_or(usize::MAX)))
    }

    /// Upper bound of the bytes of texts read for an operand.
    fn text_bytes_of(&self, reference: u32) -> Result<usize, RuleFailure> {
        if operand::as_time(reference).is_some() {
            return Ok(0);
        }
        let slot = reference / 4;
        Ok(match (reference % 4).cast_signed() {
            operand::FIELD => self.length(slot)?,
            operand::TEXT | operand::NUMBER => self.own_text(slot)?.len(),
            _ => 0,
        })
    }

    /// The price of the bytes and keys read for an operand, in fuel.
    fn reading_of(&self, reference: u32) -> Result<usize, RuleFailure> {
        if let Some(slot) = operand::as_time(reference) {
            return Ok(usize::try_from(self.price_of_time(slot)?).unwrap_or(usize::MAX));
        }
        if reference % 4 == operand::FIELD.cast_unsigned() {
            return Ok(usize::try_from(self.priced_value(reference / 4)?.1).unwrap_or(usize::MAX));
        }
        self.text_bytes_of(reference)
    }

    /// The price of reading the field of a time part.
    fn price_of_time(&self, slot: u32) -> Result<u64, RuleFailure> {
        let question = self.rule_set().times.get(at(&self.asker()?.times, slot)?);
        let field = &question.ok_or(RuleFailure::Internal)?.field;
        let (value, n_keys) = field.read_counted(self.transaction()?);
        Ok((n_keys + value.as_text().map_or(0, str::len)) as u64)
    }

    fn price_compared(&self, n_bytes: usize, list: u32) -> Result<usize, RuleFailure> {
        Ok(price_compared(self.membership(list)?, n_bytes, self.transaction()?))
    }

    /// The price of reading an operand, in fuel.
    fn price_of(&self, reference: u32) -> Result<u64, RuleFailure> {
        Ok(price_of_aggregate(reference).saturating_add(self.reading_of(reference)? as u64))
    }

    /// Length of the text in a field, in bytes; 0 if it is not a text.
    fn length(&self, slot: u32) -> Result<usize, RuleFailure> {
        Ok(self.value(slot)?.as_text().map_or(0, str::len))
    }

    /// Upper bound of the bytes of a field that a pattern searches.
    fn searched(&self, slot: u32) -> Result<usize, RuleFailure> {
        Ok(match self.value(slot)? {
            Value::Text(text) => text.len(),
            Value::Caseless(text) => text.sent.len(),
            Value::Number(_) | Value::Boolean(_) | Value::Time(_) => NUMBER_BYTES_MAX,
            Value::Missing | Value::List(_) | Value::Object(_) => 0,
        })
    }

    /// The cost of searching a list for a value of this length. The value is compared with every element in the
    /// transaction.
    fn bytes_compared(&self, n_bytes: usize, list: u32) -> Result<usize, RuleFailure> {
        Ok(bytes_of_comparison(self.membership(list)?.compared(self.transaction()?), n_bytes))
    }

    fn own_text(&self, slot: u32) -> Result<&str, RuleFailure> {
        let needs = &self.asker()?.bound.module.manifest.needs;
        needs.texts.get(slot as usize).map(String::as_str).ok_or(RuleFailure::HostCall)
    }

    fn pattern(&self, slot: u32) -> Result<&CompiledPattern, RuleFailure> {
        self.asker()?.bound.patterns.get(slot as usize).ok_or(RuleFailure::HostCall)
    }
}
