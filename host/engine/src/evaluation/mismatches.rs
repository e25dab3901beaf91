//! Counts tests of rules that met a value they cannot compare.
//!
//! Modules see such a value as NaN and do not report it. While they run, only suspect fields are recorded, see
//! [`FieldWatch`](crate::registry::FieldWatch). Afterwards the rules that test such a field are replayed in order; a
//! test that is not reached is not counted.

use std::collections::HashSet;
use std::sync::Arc;

use tollgate_guest_abi::{Condition, FieldPath, FieldType, ListSource, Number, Operand, Semantics};
use tollgate_history::ExactValue;
use tollgate_model::assessment::RuleFailure;
use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::{FieldAccess, Transaction, Value};

use crate::evaluation::exact_operand::ExactOperand;
use crate::evaluation::facts::{Facts, ModuleIndex};
use crate::evaluation::suspect_value::SuspectValue;
use crate::registry::{BoundRule, ComparedForm, Mismatch, MismatchKind, RuleSet, form_of_item, may_be_in};

/// Upper bound of the cost of one query of a replay, in fuel; a rule that needs more is not replayed to its end.
const FUEL_MAX: u64 = 1_000;
/// Upper bound of the price of one search of a replay, likewise.
const SEARCH_FUEL_MAX: u64 = 10_000;
/// Most tests of a rule that is replayed. No rule pays for this work.
const TESTS_MAX: usize = 256;
/// Tests after which no further rule is replayed for the transaction.
const TESTS_IN_ALL: usize = 64;

/// Counts the mismatches of the current transaction.
pub(super) fn count(facts: &mut Facts, rule_set: &Arc<RuleSet>, suspects: &[SuspectValue]) {
    // One field may be read directly and for several time parts.
    let fields: HashSet<&FieldAccess> =
        suspects.iter().filter_map(|suspect| suspect.field(rule_set)).collect();
    let mut looks: Vec<(u32, &FieldAccess)> = Vec::new();
    for field in fields {
        looks.extend(rule_set.watch.rules_to_go_through(field).map(|rule_index| (rule_index, field)));
    }
    looks.sort_unstable_by_key(|(rule_index, _)| *rule_index);
    let mut n_tests_left = TESTS_IN_ALL;
    for of_rule in looks.chunk_by(|(one, _), (other, _)| one == other) {
        let Some((rule_index, _)) = of_rule.first() else { continue };
        let in_force = rule_set.rules.get(*rule_index as usize);
        // A rule that does not run performs no tests.
        let runs = in_force.filter(|it| !it.is_quarantined && it.missing_lists.is_empty());
        let Some(in_force) = runs else { continue };
        let n_tests = in_force.rule.instruction.checked.as_ref().map_or(0, |checked| checked.tests.len());
        if n_tests > TESTS_MAX || n_tests_left == 0 {
            continue;
        }
        n_tests_left = n_tests_left.saturating_sub(n_tests);
        facts.turn_to(ModuleIndex::Rule(*rule_index as usize));
        count_of_rule(facts, &in_force.rule, of_rule);
    }
}

fn count_of_rule(facts: &mut Facts, rule: &BoundRule, looks: &[(u32, &FieldAccess)]) {
    let (Some(checked), Some(transaction)) = (&rule.instruction.checked, facts.subject()) else { return };
    let mut walk = MismatchSearch { facts, rule, transaction: &transaction, next: 0, found: Vec::new() };
    // A rule that fails has performed its tests up to that point.
    let _ = walk.holds(&checked.when);
    for found in walk.found {
        // Other fields are counted in their own turn.
        if !looks.iter().any(|(_, field)| **field == found.field) {
            continue;
        }
        let FoundMismatches { test, name, got, wanted, .. } = found;
        if rule.mismatches.note(Mismatch { test, field: name.clone(), got, wanted }) {
            tracing::warn!(
                rule = %rule.instruction.entry.name,
                field = %name,
                got = got.as_str(),
                wanted = wanted.as_str(),
                "a test of a rule got a value that it cannot compare; GET /instructions/{{id}} shows the counts"
            );
        }
    }
}

/// A replay of the tests of one rule.
struct MismatchSearch<'w> {
    facts: &'w mut Facts,
    rule: &'w BoundRule,
    transaction: &'w Transaction,
    /// Number of the next test.
    next: usize,
    found: Vec<FoundMismatches>,
}

struct FoundMismatches {
    test: usize,
    field: FieldAccess,
    name: String,
    got: MismatchKind,
    wanted: MismatchKind,
}

type Result<T> = std::result::Result<T, RuleFailure>;

impl<'w> MismatchSearch<'w> {
    fn holds(&mut self, condition: &'w Condition) -> Result<bool> {
        match condition {
            Condition::All(parts) => self.until(parts, false),
            Condition::Any(parts) => self.until(parts, true),
            Condition::Not(part) => Ok(!self.holds(part)?),
            test => {
                self.note(test)?;
                self.next += 1;
                self.test(test)
            }
        }
    }

    /// Returns `word` as soon as one part evaluates to it, otherwise its negation.
    fn until(&mut self, parts: &'w [Condition], word: bool) -> Result<bool> {
        for (n, part) in parts.iter().enumerate() {
            if self.holds(part)? == word {
                self.next += parts.iter().skip(n + 1).map(n_tests).sum::<usize>();
                return Ok(word);
            }
        }
        Ok(!word)
    }

    /// Records the values that a test cannot compare.
    fn note(&mut self, test: &'w Condition) -> Result<()> {
        match test {
            Condition::Compare { left, operator, right } => {
                let ordered = operator.is_order();
                let (of_left, of_right) = (self.form(left)?, self.form(right)?);
                // Blame one side only: a structure if there is one, since any other value may suit another test.
                let is_right = of_right.is_some_and(|form| form.kind == MismatchKind::Structure);
                let left_to_blame = dynamic(left).filter(|_| !is_right || dynamic(right).is_none());
                let suits = |other: Option<ComparedForm>| {
                    move |form: ComparedForm| other.is_none_or(|other| form.compares_with(other, ordered))
                };
                if left_to_blame.is_some() {
                    self.note_parts(right);
                    self.note_unless(left, wanted(of_right, ordered), suits(of_right))
                } else {
                    self.note_parts(left);
                    self.note_unless(right, wanted(of_left, ordered), suits(of_left))
                }
            }
            Condition::In { value, list, .. } => {
                self.note_unless(value, wanted_by(list), |form| may_be_in(form, list))
            }
            Condition::Matches { value, .. } => {
                self.note_unless(value, MismatchKind::Text, |form| form.kind != MismatchKind::Structure)
            }
            Condition::Previous(_) | Condition::All(_) | Condition::Any(_) | Condition::Not(_) => Ok(()),
        }
    }

    /// Records values in arithmetic that are not numbers, and values in a time function that are not times.
    fn note_parts(&mut self, operand: &'w Operand) {
        match operand {
            Operand::Arithmetic { left, right, .. } => {
                self.note_number(left);
                self.note_number(right);
            }
            Operand::Negate(part) => self.note_number(part),
            Operand::Time(spec) => self.note_field(&spec.field, MismatchKind::Time, |form| {
                form.is_time || form.kind == MismatchKind::Time
            }),
            _ => {}
        }
    }

    fn note_number(&mut self, operand: &'w Operand) {
        self.note_parts(operand);
        if let Operand::Field(path) = operand {
            let number = ComparedForm::of_kind(MismatchKind::Number);
            self.note_field(path, MismatchKind::Number, |form| form.compares_with(number, false));
        }
    }

    fn field(&self, path: &FieldPath) -> FieldAccess {
        FieldAccess::bind(path, Semantics::CURRENT, &self.rule.bound.status_words)
    }

    fn note_field(&mut self, path: &FieldPath, wanted: MismatchKind, suits: impl Fn(ComparedForm) -> bool) {
        let form = ComparedForm::of_value(&self.field(path).read(self.transaction));
        if let Some(form) = form.filter(|form| !suits(*form)) {
            self.blame(path, form, wanted);
        }
    }

    fn blame(&mut self, path: &FieldPath, form: ComparedForm, wanted: MismatchKind) {
        if path.field_type() == FieldType::Dynamic {
            let (field, name) = (self.field(path), path.to_string());
            self.found.push(FoundMismatches { test: self.next, field, name, got: form.kind, wanted });
        }
    }

    /// Records a value that does not suit a test, and the unsuitable parts within it.
    fn note_unless(
        &mut self,
        operand: &'w Operand,
        wanted: MismatchKind,
        suits: impl Fn(ComparedForm) -> bool,
    ) -> Result<()> {
        self.note_parts(operand);
        let form = self.form(operand)?;
        if let (Operand::Field(path), Some(form)) = (operand, form.filter(|form| !suits(*form))) {
            self.blame(path, form, wanted);
        }
        Ok(())
    }

    /// The form of the value of an operand; `None` when it is missing.
    fn form(&mut self, operand: &'w Operand) -> Result<Option<ComparedForm>> {
        Ok(match operand {
            Operand::Aggregate(_) => Some(ComparedForm::of_kind(MismatchKind::Number)),
            operand => match self.side(operand)? {
                ExactOperand::Value(value) => ComparedForm::of_value(&value),
                ExactOperand::Computed(_) => Some(ComparedForm::of_kind(MismatchKind::Number)),
            },
        })
    }

    fn test(&mut self, test: &'w Condition) -> Result<bool> {
        let needs = &self.rule.bound.module.manifest.needs;
        Ok(match test {
            Condition::Compare { left, operator, right } => {
                let left = self.side(left)?;
                left.related_to(&self.side(right)?).satisfy(*operator)
            }
            Condition::In { value, list, negated } => {
                let value = self.side(value)?;
                let slot = slot_of(&needs.lists, list)?;
                self.facts.find_member(&value, slot)?.is_some_and(|found| found != *negated)
            }
            Condition::Matches { value, pattern, negated } => {
                let slot = slot_of(&needs.patterns, pattern)?;
                let pattern = self.rule.bound.patterns.get(slot as usize).ok_or(RuleFailure::Internal)?;
                let found = match self.side(value)? {
                    ExactOperand::Value(value) if pattern.price_of(&value) > SEARCH_FUEL_MAX => {
                        return Err(RuleFailure::Fuel);
                    }
                    ExactOperand::Value(value) => pattern.search(&value),
                    ExactOperand::Computed(number) => pattern.search_number(number.to_f64()),
                };
                found.is_some_and(|found| found != *negated)
            }
            Condition::Previous(spec) => {
                self.facts.previous(slot_of(&needs.previous, spec)?, FUEL_MAX)?.value
            }
            Condition::All(_) | Condition::Any(_) | Condition::Not(_) => return Err(RuleFailure::Internal),
        })
    }

    fn side(&mut self, operand: &'w Operand) -> Result<ExactOperand<'w>> {
        let needs = &self.rule.bound.module.manifest.needs;
        Ok(ExactOperand::Value(match operand {
            Operand::Field(path) => self.field(path).read(self.transaction),
            Operand::Text(text) => Value::Text(text),
            Operand::Boolean(boolean) => Value::Boolean(*boolean),
            Operand::Number(number) => decimal(number),
            Operand::Time(spec) => Value::of_time_part(self.facts.time_part(slot_of(&needs.times, spec)?)?),
            Operand::Aggregate(spec) => {
                let slot = slot_of(&needs.aggregates, spec)?;
                return Ok(ExactOperand::Computed(self.facts.exact_aggregate(slot, FUEL_MAX)?.value));
            }
            Operand::Arithmetic { .. } | Operand::Negate(_) => {
                let number = self.number(operand)?;
                if !number.is_nan() {
                    return Ok(ExactOperand::Computed(ExactValue::Double(number)));
                }
                Value::Missing
            }
            Operand::Current(_) => return Err(RuleFailure::Internal),
        }))
    }

    fn number(&mut self, operand: &'w Operand) -> Result<f64> {
        Ok(match operand {
            Operand::Arithmetic { left, operator, right } => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                operator.apply(left, right)
            }
            Operand::Negate(inner) => -self.number(inner)?,
            operand => match self.side(operand)? {
                ExactOperand::Value(value) => value.as_f64(),
                ExactOperand::Computed(number) => number.to_f64(),
            },
        })
    }
}

fn decimal(number: &Number) -> Value<'static> {
    Decimal::from_plain(number.as_str()).map_or(Value::Missing, Value::Number)
}

fn n_tests(condition: &Condition) -> usize {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => parts.iter().map(n_tests).sum(),
        Condition::Not(part) => n_tests(part),
        _ => 1,
    }
}

/// The path of a field with values of any type.
fn dynamic(operand: &Operand) -> Option<&FieldPath> {
    match operand {
        Operand::Field(path) if path.field_type() == FieldType::Dynamic => Some(path),
        _ => None,
    }
}

/// The kind that would compare with a value of this form. Only numeric texts have an order.
fn wanted(other: Option<ComparedForm>, ordered: bool) -> MismatchKind {
    match other.map_or(MismatchKind::Text, |other| other.kind) {
        MismatchKind::Text if ordered => MismatchKind::Number,
        kind => kind,
    }
}

fn wanted_by(list: &ListSource) -> MismatchKind {
    match list {
        ListSource::Items(items) => {
            items.iter().find_map(form_of_item).map_or(MismatchKind::Text, |form| form.kind)
        }
        ListSource::Current(_) | ListSource::Named(_) => MismatchKind::Text,
    }
}

fn slot_of<T: PartialEq>(needs: &[T], wanted: &T) -> Result<u32> {
    let slot = needs.iter().position(|need| need == wanted).ok_or(RuleFailure::Internal)?;
    u32::try_from(slot).map_err(|_| RuleFailure::Internal)
}
