//! Inputs of one evaluation, computed on first use and kept until the transaction is judged.

use std::sync::Arc;

use tollgate_guest_abi::Semantics;
use tollgate_guest_abi::imports::kind;
use tollgate_history::{AggregateValue, CostedAnswer, ExactValue, LookupDeadline, LookupError, LookupLimits};
use tollgate_model::assessment::RuleFailure;
use tollgate_model::decimal::Decimal;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{LongestReads, Transaction, Value, with_small_letters};

use crate::evaluation::lookup_costs::{LookupCosts, LookupNumber};
use crate::evaluation::search_cache::SearchCache;
use crate::evaluation::suspect_value::SuspectValue;
use crate::registry::{OwnerInForce, RuleSet, Selector, SlotBindings, Symbols, ValueClass};

/// Values that the rules of one set use for one transaction. The tables have the indices of the set; `None` marks a
/// value not yet computed.
#[derive(Debug)]
pub(super) struct Facts {
    rule_set: Arc<RuleSet>,
    subject: Option<EvaluatedTransaction>,
    /// The module that is running.
    turn: ModuleIndex,
    fields: Vec<Option<FieldForms>>,
    aggregates: Vec<Option<CostedAnswer<AggregateValue>>>,
    previous: Vec<Option<CostedAnswer<bool>>>,
    times: Vec<Option<f64>>,
    searches: SearchCache,
    deadline: LookupDeadline,
    costs: LookupCosts,
    /// Values that a test of some rule cannot compare.
    suspects: Vec<SuspectValue>,
}

/// The running module: its index among the rules of the set, or among the bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModuleIndex {
    Rule(usize),
    Body(usize),
}

/// The transaction, and the part of the history it sees.
#[derive(Debug)]
struct EvaluatedTransaction {
    transaction: Arc<Transaction>,
    as_of: Sequence,
}

/// One field, in the forms that modules read.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldForms {
    pub(super) kind: i32,
    /// The nearest double; NaN if the value is not a number.
    pub(super) number: f64,
    /// A double that compares exactly with short numbers.
    pub(super) comparable: f64,
    /// Index of its text in the symbol table of the set.
    pub(super) symbol: Option<u32>,
    /// Class of the value, for mismatch detection.
    class: ValueClass,
}

impl Facts {
    pub(super) fn new(rule_set: Arc<RuleSet>) -> Self {
        Self {
            subject: None,
            turn: ModuleIndex::Rule(0),
            fields: vec![None; rule_set.fields.len()],
            aggregates: vec![None; rule_set.aggregates.len()],
            previous: vec![None; rule_set.previous.len()],
            times: vec![None; rule_set.times.len()],
            searches: SearchCache::new(rule_set.n_patterns, rule_set.n_lists),
            deadline: LookupDeadline::default(),
            costs: LookupCosts::default(),
            suspects: Vec::new(),
            rule_set,
        }
    }

    /// Discards the values of the last transaction and starts this one.
    pub(super) fn begin(&mut self, transaction: Arc<Transaction>, as_of: Sequence) {
        self.subject = Some(EvaluatedTransaction { transaction, as_of });
        self.fields.fill(None);
        self.aggregates.fill(None);
        self.previous.fill(None);
        self.times.fill(None);
        self.searches.begin();
        self.deadline.reset();
        self.costs.begin();
        self.suspects.clear();
    }

    /// Begins to run the rules of an owner, which have a time of their own for their lookups.
    pub(super) fn begin_owner(&mut self) {
        self.deadline.reset();
    }

    /// Begins to run the bodies of an owner. From now on lookups may cost this much, if each of its rules asked alone.
    pub(super) fn begin_bodies(&mut self, owner: usize, fuel: u64) {
        self.costs.begin_bodies(owner, fuel);
    }

    /// Ends the run of bodies. Returns the fuel that is left.
    pub(super) fn end_bodies(&mut self) -> u64 {
        self.costs.end_bodies()
    }

    /// Returns the most that rules can read of the transaction at once.
    pub(super) fn longest_reads(&self) -> Result<LongestReads, RuleFailure> {
        Ok(self.transaction()?.longest_reads)
    }

    fn owner(&self, number: usize) -> Result<&OwnerInForce, RuleFailure> {
        self.rule_set.owners.get(number).ok_or(RuleFailure::Internal)
    }

    /// Returns the most that a lookup may cost, or fails if it is known to cost more.
    fn limits(&self, lookup: LookupNumber, fuel_max: u64) -> Result<LookupLimits<'_>, RuleFailure> {
        let fuel_max = match self.costs.owner_of_bodies() {
            Some(owner) => self.costs.fuel_max_of(lookup, self.owner(owner)?, fuel_max),
            None => fuel_max,
        };
        self.costs.check(lookup, fuel_max)?;
        Ok(LookupLimits { fuel_max, semantics: self.semantics(), deadline: &self.deadline })
    }

    /// Charges the bodies of an owner for a lookup, once for each of its rules that asks it.
    fn pay(&self, lookup: LookupNumber, fuel: u64) -> Result<(), RuleFailure> {
        match self.costs.owner_of_bodies() {
            Some(owner) if fuel > 0 => self.costs.pay(lookup, self.owner(owner)?, fuel),
            _ => Ok(()),
        }
    }

    fn semantics(&self) -> Semantics {
        self.rule_set.semantics
    }

    pub(super) fn turn_to(&mut self, turn: ModuleIndex) {
        self.turn = turn;
    }

    pub(super) fn end(&mut self) {
        self.subject = None;
    }

    /// The slot bindings of the running module.
    pub(super) fn asker(&self) -> Result<&SlotBindings, RuleFailure> {
        asker_of(&self.rule_set, self.turn)
    }

    /// The rule set, the running module, the transaction and the search cache.
    #[inline]
    pub(super) fn searching(
        &mut self,
    ) -> Result<(&RuleSet, &SlotBindings, &Transaction, &mut SearchCache), RuleFailure> {
        let Self { rule_set, subject, turn, searches, .. } = self;
        let subject = subject.as_ref().ok_or(RuleFailure::Internal)?;
        Ok((rule_set, asker_of(rule_set, *turn)?, &subject.transaction, searches))
    }

    pub(super) fn rule_set(&self) -> &RuleSet {
        &self.rule_set
    }

    pub(super) fn transaction(&self) -> Result<&Transaction, RuleFailure> {
        self.subject.as_ref().map(|subject| &*subject.transaction).ok_or(RuleFailure::Internal)
    }

    /// Returns the value of a field slot of the running module.
    pub(super) fn value(&self, slot: u32) -> Result<Value<'_>, RuleFailure> {
        let field = self.rule_set.fields.get(at(&self.asker()?.fields, slot)?);
        Ok(field.ok_or(RuleFailure::Internal)?.read(self.transaction()?))
    }

    /// Returns the value of a field slot of the running module, and the price of reading it: its bytes, if it is a text,
    /// and the keys of the objects on the path to it.
    pub(super) fn priced_value(&self, slot: u32) -> Result<(Value<'_>, u64), RuleFailure> {
        let field = self.rule_set.fields.get(at(&self.asker()?.fields, slot)?);
        let (value, n_keys) = field.ok_or(RuleFailure::Internal)?.read_counted(self.transaction()?);
        let price = n_keys + value.as_text().map_or(0, str::len);
        Ok((value, price as u64))
    }

    #[inline]
    pub(super) fn field(&mut self, slot: u32) -> Result<&FieldForms, RuleFailure> {
        let number = at(&self.asker()?.fields, slot)?;
        self.field_of_set(number)
    }

    /// As [`Self::field`], by the index of the field in the set.
    #[inline]
    fn field_of_set(&mut self, number: usize) -> Result<&FieldForms, RuleFailure> {
        if let Some(None) = self.fields.get(number) {
            self.read_field(number)?;
        }
        self.fields.get(number).and_then(Option::as_ref).ok_or(RuleFailure::Internal)
    }

    #[inline(never)]
    fn read_field(&mut self, number: usize) -> Result<(), RuleFailure> {
        let field = self.rule_set.fields.get(number).ok_or(RuleFailure::Internal)?;
        let field = look_at(&field.read(self.transaction()?), &self.rule_set.symbols);
        if self.rule_set.watch.is_of_interest(number, field.class) {
            self.suspect(SuspectValue::Field(u32::try_from(number).unwrap_or(u32::MAX)));
        }
        keep(&mut self.fields, number, field)?;
        Ok(())
    }

    /// Records a value that some test cannot compare.
    #[cold]
    pub(super) fn suspect(&mut self, suspect: SuspectValue) {
        if !self.suspects.contains(&suspect) {
            self.suspects.push(suspect);
        }
    }

    pub(super) fn take_suspects(&mut self) -> Vec<SuspectValue> {
        std::mem::take(&mut self.suspects)
    }

    /// The current transaction.
    pub(super) fn subject(&self) -> Option<Arc<Transaction>> {
        self.subject.as_ref().map(|subject| Arc::clone(&subject.transaction))
    }

    /// Whether the selector rules out that any rule of a body matches or fails.
    pub(super) fn rule_out(&mut self, selector: &Selector) -> Result<bool, RuleFailure> {
        for (field, range) in &selector.ranges {
            let number = self.field_of_set(*field as usize)?.number;
            if !range.has(number) {
                return Ok(true);
            }
        }
        for (field, symbols) in &selector.texts {
            let symbol = self.field_of_set(*field as usize)?.symbol;
            if symbol.is_none_or(|symbol| symbols.binary_search(&symbol).is_err()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the value and its cost. A cached answer reports the same cost, so a rule's cost is independent of others.
    pub(super) fn aggregate(
        &mut self,
        slot: u32,
        fuel_max: u64,
    ) -> Result<CostedAnswer<AggregateValue>, RuleFailure> {
        let number = at(&self.asker()?.aggregates, slot)?;
        let lookup = LookupNumber::Aggregate(number);
        if let Some(&Some(answered)) = self.aggregates.get(number) {
            self.pay(lookup, answered.fuel)?;
            return Ok(answered);
        }
        let question = self.rule_set.aggregates.get(number).ok_or(RuleFailure::Internal)?;
        let EvaluatedTransaction { transaction, as_of } =
            self.subject.as_ref().ok_or(RuleFailure::Internal)?;
        if let Some(value) = question.answer_from_sums(transaction, *as_of) {
            return keep(&mut self.aggregates, number, CostedAnswer { value, fuel: 0 });
        }
        let limits = self.limits(lookup, fuel_max)?;
        let answered = question.answer_within(transaction, *as_of, &self.rule_set.lists, limits);
        let answered = answered.map_err(|error| self.unanswered(lookup, limits, &error))?;
        self.pay(lookup, answered.fuel)?;
        keep(&mut self.aggregates, number, answered)
    }

    /// Returns the exact value of an aggregate, computed again on every call.
    pub(super) fn exact_aggregate(
        &self,
        slot: u32,
        fuel_max: u64,
    ) -> Result<CostedAnswer<ExactValue>, RuleFailure> {
        let number = at(&self.asker()?.aggregates, slot)?;
        let question = self.rule_set.aggregates.get(number).ok_or(RuleFailure::Internal)?;
        let EvaluatedTransaction { transaction, as_of } =
            self.subject.as_ref().ok_or(RuleFailure::Internal)?;
        let lookup = LookupNumber::Aggregate(number);
        let limits = self.limits(lookup, fuel_max)?;
        let answered = question.exact_within(transaction, *as_of, &self.rule_set.lists, limits);
        let answered = answered.map_err(|error| self.unanswered(lookup, limits, &error))?;
        self.pay(lookup, answered.fuel)?;
        Ok(answered)
    }

    /// Returns an aggregate if its cached or batched answer cost nothing.
    pub(super) fn cached_aggregate(&mut self, slot: u32) -> Result<Option<AggregateValue>, RuleFailure> {
        let number = at(&self.asker()?.aggregates, slot)?;
        if let Some(None) = self.aggregates.get(number) {
            self.answer_jointly(slot)?;
        }
        Ok(match self.aggregates.get(number) {
            Some(&Some(CostedAnswer { value, fuel: 0 })) => Some(value),
            _ => None,
        })
    }

    /// Answers all aggregates in the batch of this one, if it has a batch.
    fn answer_jointly(&mut self, slot: u32) -> Result<(), RuleFailure> {
        let Self { rule_set, subject, turn, aggregates, .. } = self;
        let asker = asker_of(rule_set, *turn)?;
        let Some(joint) = asker.bound.questions.iter().find(|joint| joint.slots.contains(&slot)) else {
            return Ok(());
        };
        let EvaluatedTransaction { transaction, as_of } = subject.as_ref().ok_or(RuleFailure::Internal)?;
        joint.batch.answer(transaction, *as_of, |n, value| {
            let number = joint.slots.get(n).and_then(|&slot| at(&asker.aggregates, slot).ok());
            if let Some(answer) = number.and_then(|number| aggregates.get_mut(number)) {
                *answer = Some(CostedAnswer { value, fuel: 0 });
            }
        });
        Ok(())
    }

    /// As [`Facts::aggregate`], for a previous transaction.
    pub(super) fn previous(&mut self, slot: u32, fuel_max: u64) -> Result<CostedAnswer<bool>, RuleFailure> {
        let number = at(&self.asker()?.previous, slot)?;
        let lookup = LookupNumber::Previous(number);
        if let Some(&Some(answered)) = self.previous.get(number) {
            self.pay(lookup, answered.fuel)?;
            return Ok(answered);
        }
        let question = self.rule_set.previous.get(number).ok_or(RuleFailure::Internal)?;
        let EvaluatedTransaction { transaction, as_of } =
            self.subject.as_ref().ok_or(RuleFailure::Internal)?;
        let limits = self.limits(lookup, fuel_max)?;
        let answered = question.answer_within(transaction, *as_of, &self.rule_set.lists, limits);
        let answered = answered.map_err(|error| self.unanswered(lookup, limits, &error))?;
        self.pay(lookup, answered.fuel)?;
        keep(&mut self.previous, number, answered)
    }

    /// Maps an error to a failure: a rule without an answer fails, and a failed rule never allows.
    fn unanswered(&self, lookup: LookupNumber, limits: LookupLimits<'_>, error: &LookupError) -> RuleFailure {
        match error {
            LookupError::Spill(error) => tracing::error!(error = %error, "the history cannot answer"),
            LookupError::Forgotten | LookupError::TooSlow => {
                tracing::warn!(reason = %error, "the history cannot answer");
            }
            LookupError::TooManyRows => {
                self.costs.costs_more_than(lookup, limits.fuel_max);
                return RuleFailure::Fuel;
            }
        }
        RuleFailure::Lookup
    }

    pub(super) fn time_part(&mut self, slot: u32) -> Result<f64, RuleFailure> {
        let number = at(&self.asker()?.times, slot)?;
        if let Some(&Some(answer)) = self.times.get(number) {
            return Ok(answer);
        }
        let answer = self.part_of_time(slot)?;
        if answer.is_nan() && !self.check_time_missing(number)? {
            self.suspect(SuspectValue::Time(u32::try_from(number).unwrap_or(u32::MAX)));
        }
        keep(&mut self.times, number, answer)
    }

    fn check_time_missing(&self, number: usize) -> Result<bool, RuleFailure> {
        let question = self.rule_set.times.get(number).ok_or(RuleFailure::Internal)?;
        Ok(question.field.read(self.transaction()?).is_missing())
    }

    /// As [`Self::time_part`], without the cache.
    pub(super) fn part_of_time(&self, slot: u32) -> Result<f64, RuleFailure> {
        let question = self.rule_set.times.get(at(&self.asker()?.times, slot)?);
        let question = question.ok_or(RuleFailure::Internal)?;
        Ok(question.part.number_of(question.field.read(self.transaction()?)))
    }
}

#[inline]
fn asker_of(rule_set: &RuleSet, turn: ModuleIndex) -> Result<&SlotBindings, RuleFailure> {
    let asker = match turn {
        ModuleIndex::Rule(index) => rule_set.rules.get(index).map(|in_force| &in_force.asker),
        ModuleIndex::Body(index) => rule_set.bodies.get(index).map(|in_force| &in_force.asker),
    };
    asker.ok_or(RuleFailure::Internal)
}

/// A field of this kind without a number or symbol.
const fn of_kind(kind: i32, class: ValueClass) -> FieldForms {
    FieldForms { kind, number: f64::NAN, comparable: f64::NAN, symbol: None, class }
}

#[inline]
fn of_text(text: &str, symbol: Option<u32>) -> FieldForms {
    let field = match Decimal::from_plain(text) {
        Some(number) => of_number(kind::TEXT, ValueClass::NUMERIC_TEXT, number),
        None => of_kind(kind::TEXT, ValueClass::TEXT),
    };
    FieldForms { symbol, ..field }
}

#[inline]
fn look_at(value: &Value<'_>, symbols: &Symbols) -> FieldForms {
    match value {
        Value::Missing => of_kind(kind::MISSING, ValueClass::NONE),
        Value::Boolean(boolean) => {
            let symbol = symbols.get(if *boolean { "true" } else { "false" });
            FieldForms { symbol, ..of_kind(kind::BOOLEAN, ValueClass::BOOLEAN) }
        }
        Value::Number(number) => of_number(kind::NUMBER, ValueClass::NUMBER, *number),
        Value::Text(text) => of_text(text, symbols.get(text)),
        Value::Caseless(text) => {
            of_text(text.compared, with_small_letters(text.compared, |small| symbols.get(small)))
        }
        Value::Time(_) => of_kind(kind::TIME, ValueClass::NONE),
        Value::List(_) | Value::Object(_) => of_kind(kind::STRUCTURE, ValueClass::STRUCTURE),
    }
}

#[inline]
fn of_number(kind: i32, class: ValueClass, number: Decimal) -> FieldForms {
    let nearest = number.to_f64();
    let comparable = if number.is_short() { nearest } else { number.comparable() };
    FieldForms { kind, number: nearest, comparable, symbol: None, class }
}

/// The index in the table of the set for a slot; a slot outside the manifest is the fault of the module.
pub(super) fn at(numbers: &[u32], slot: u32) -> Result<usize, RuleFailure> {
    numbers.get(slot as usize).map(|&number| number as usize).ok_or(RuleFailure::HostCall)
}

fn keep<T: Copy>(table: &mut [Option<T>], number: usize, answer: T) -> Result<T, RuleFailure> {
    *table.get_mut(number).ok_or(RuleFailure::Internal)? = Some(answer);
    Ok(answer)
}
