//! Determines the values of a transaction that some test of a rule set cannot compare.
//!
//! Each field is classified once per transaction. A table lookup by class then decides whether rules must be replayed
//! test by test. Only metadata fields and tests of scripts are watched.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use tollgate_guest_abi::{Condition, FieldPath, FieldType, Item, ListSource, Number, Operand, Semantics};
use tollgate_model::transaction::{FieldAccess, StatusWords, Value};

use crate::registry::RuleInForce;
use crate::registry::mismatches::{ComparedForm, MismatchKind};

/// The first transactions with a suspect value in a field are all replayed; later, one in [`LATER_ONE_IN`].
const FIRST: u32 = 1_000;
const LATER_ONE_IN: u32 = 64;
/// Upper bound of rules replayed for one field of one transaction; the next replay continues with other rules.
const RULES_PER_LOOK: usize = 32;

/// A set of value classes, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueClass(u8);

impl ValueClass {
    /// Missing, or a value of a class that is not watched.
    pub const NONE: Self = Self(0);
    /// A number.
    pub const NUMBER: Self = Self(1);
    /// A numeric text.
    pub(crate) const NUMERIC_TEXT: Self = Self(2);
    /// Any other text.
    pub const TEXT: Self = Self(4);
    /// `true` or `false`.
    pub(crate) const BOOLEAN: Self = Self(8);
    /// An array or an object.
    pub const STRUCTURE: Self = Self(16);

    /// Each class with its form of comparison. Texts that are times or words of booleans are not distinguished here.
    const FORMS: [(Self, ComparedForm); 5] = [
        (Self::NUMBER, ComparedForm::of_kind(MismatchKind::Number)),
        (
            Self::NUMERIC_TEXT,
            ComparedForm { kind: MismatchKind::Text, is_number: true, is_time: true, is_boolean: false },
        ),
        (
            Self::TEXT,
            ComparedForm { kind: MismatchKind::Text, is_number: false, is_time: true, is_boolean: false },
        ),
        (Self::BOOLEAN, ComparedForm::of_kind(MismatchKind::Boolean)),
        (Self::STRUCTURE, ComparedForm::of_kind(MismatchKind::Structure)),
    ];

    /// Returns the classes whose form does not satisfy `suits`.
    fn all_but(suits: impl Fn(ComparedForm) -> bool) -> Self {
        Self(Self::FORMS.iter().filter(|(_, form)| !suits(*form)).fold(0, |all, (class, _)| all | class.0))
    }
}

/// Watched fields of a rule set, by path.
#[derive(Debug, Default)]
pub struct FieldWatch {
    fields: HashMap<FieldAccess, WatchedField>,
    /// For each field of the set, by index: the classes that some test cannot compare.
    classes: Vec<ValueClass>,
}

#[derive(Debug)]
struct WatchedField {
    classes: ValueClass,
    /// Whether a test orders it against another field.
    is_ordered: bool,
    /// Indices of the rules that test it.
    rules: Vec<u32>,
    /// Number of transactions with a suspect value.
    n_looks: AtomicU32,
    /// Number of those that were replayed.
    n_due: AtomicU32,
}

impl FieldWatch {
    /// Builds the watch for these rules, and the fields that their modules read.
    pub(super) fn new(rules: &[RuleInForce], fields: &[FieldAccess]) -> Self {
        let mut watch = Self::default();
        for (rule_index, in_force) in (0..).zip(rules) {
            if let Some(checked) = &in_force.rule.instruction.checked {
                watch.add_condition(&checked.when, rule_index);
            }
        }
        let of_field = |field| watch.fields.get(field).map_or(ValueClass::NONE, |watched| watched.classes);
        watch.classes = fields.iter().map(of_field).collect();
        watch
    }

    /// Whether a value of this class in a field, by index, is suspect.
    #[inline]
    #[must_use]
    pub fn is_of_interest(&self, field: usize, class: ValueClass) -> bool {
        self.classes.get(field).is_some_and(|classes| classes.0 & class.0 != 0)
    }

    /// As [`Self::is_of_interest`], for a value that is not classified yet.
    #[inline]
    #[must_use]
    pub(crate) fn is_value_of_interest(&self, field: usize, value: &Value<'_>) -> bool {
        let class = match value {
            Value::Number(_) => ValueClass::NUMBER,
            Value::Boolean(_) => ValueClass::BOOLEAN,
            Value::List(_) | Value::Object(_) => ValueClass::STRUCTURE,
            Value::Text(_) | Value::Caseless(_) => {
                // Most lists contain texts; then no text is suspect.
                let of_interest = |class| self.is_of_interest(field, class);
                match (of_interest(ValueClass::TEXT), of_interest(ValueClass::NUMERIC_TEXT)) {
                    (false, false) => return false,
                    (true, true) => return true,
                    _ if value.as_decimal().is_some() => ValueClass::NUMERIC_TEXT,
                    _ => ValueClass::TEXT,
                }
            }
            Value::Missing | Value::Time(_) => ValueClass::NONE,
        };
        self.is_of_interest(field, class)
    }

    /// Whether some rule orders this field against another one.
    #[must_use]
    pub(crate) fn is_ordered(&self, field: &FieldAccess) -> bool {
        self.fields.get(field).is_some_and(|watched| watched.is_ordered)
    }

    /// Returns the indices of the rules to replay for a suspect value in this field.
    pub(crate) fn rules_to_go_through(&self, field: &FieldAccess) -> impl Iterator<Item = u32> {
        let watched = self.fields.get(field);
        let n_looks = watched.map_or(1, |watched| watched.n_looks.fetch_add(1, Ordering::Relaxed));
        let is_due = n_looks < FIRST || n_looks.is_multiple_of(LATER_ONE_IN);
        let rules = watched.filter(|_| is_due).map_or(&[][..], |watched| &watched.rules);
        let n_before = watched.filter(|_| is_due).map_or(0, |it| it.n_due.fetch_add(1, Ordering::Relaxed));
        let begin = n_before as usize * RULES_PER_LOOK % rules.len().max(1);
        rules.iter().cycle().skip(begin).take(rules.len().min(RULES_PER_LOOK)).copied()
    }

    fn add_condition(&mut self, condition: &Condition, rule: u32) {
        match condition {
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().for_each(|part| self.add_condition(part, rule));
            }
            Condition::Not(part) => self.add_condition(part, rule),
            Condition::Compare { left, operator, right } => {
                self.add_compared(left, operator.is_order(), right, rule);
                self.add_compared(right, operator.is_order(), left, rule);
            }
            Condition::In { value, list, .. } => self.add_operand(value, |form| may_be_in(form, list), rule),
            Condition::Matches { value, .. } => {
                self.add_operand(value, |form| form.kind != MismatchKind::Structure, rule);
            }
            Condition::Previous(_) => {}
        }
    }

    fn add_compared(&mut self, operand: &Operand, ordered: bool, other: &Operand, rule: u32) {
        let other_form = form_of(other);
        self.add_operand(
            operand,
            |form| other_form.is_none_or(|other| form.compares_with(other, ordered)),
            rule,
        );
        if let (Operand::Field(path), None) = (operand, other_form) {
            self.watched(path, rule).is_ordered |= ordered;
        }
    }

    fn add_operand(&mut self, operand: &Operand, suits: impl Fn(ComparedForm) -> bool + Copy, rule: u32) {
        match operand {
            Operand::Field(path) => self.add_field(path, ValueClass::all_but(suits), rule),
            Operand::Time(spec) => self.add_field(&spec.field, ValueClass::NONE, rule),
            Operand::Arithmetic { left, right, .. } => {
                self.add_operand(left, is_number, rule);
                self.add_operand(right, is_number, rule);
            }
            Operand::Negate(inner) => self.add_operand(inner, is_number, rule),
            _ => {}
        }
    }

    fn add_field(&mut self, path: &FieldPath, classes: ValueClass, rule: u32) {
        if path.field_type() == FieldType::Dynamic {
            self.watched(path, rule).classes.0 |= classes.0;
        }
    }

    fn watched(&mut self, path: &FieldPath, rule: u32) -> &mut WatchedField {
        // No test of a stage is watched, so the table of status words does not matter.
        let field = FieldAccess::bind(path, Semantics::CURRENT, &StatusWords::built_in());
        let watched = self.fields.entry(field).or_insert_with(|| WatchedField {
            classes: ValueClass::NONE,
            is_ordered: false,
            rules: Vec::new(),
            n_looks: AtomicU32::new(0),
            n_due: AtomicU32::new(0),
        });
        if watched.rules.last() != Some(&rule) {
            watched.rules.push(rule);
        }
        watched
    }
}

fn is_number(form: ComparedForm) -> bool {
    form.compares_with(ComparedForm::of_kind(MismatchKind::Number), false)
}

/// Whether a value of this form can be in a list of a script.
pub(crate) fn may_be_in(form: ComparedForm, list: &ListSource) -> bool {
    match list {
        ListSource::Items(items) => items.iter().any(|item| match form_of_item(item) {
            Some(item) => form.compares_with(item, false),
            None => form.kind != MismatchKind::Structure,
        }),
        ListSource::Current(_) | ListSource::Named(_) => form.kind != MismatchKind::Structure,
    }
}

/// The form of an operand in every transaction; `None` for a field that is not certain to be a number.
fn form_of(operand: &Operand) -> Option<ComparedForm> {
    Some(match operand {
        Operand::Text(text) => form_of_text(text),
        Operand::Boolean(_) => ComparedForm::of_kind(MismatchKind::Boolean),
        Operand::Field(path) | Operand::Current(path) if path.field_type() != FieldType::Number => {
            return None;
        }
        _ => ComparedForm::of_kind(MismatchKind::Number),
    })
}

/// The form of a list item; `None` for a field.
pub(crate) fn form_of_item(item: &Item) -> Option<ComparedForm> {
    Some(match item {
        Item::Number(_) => ComparedForm::of_kind(MismatchKind::Number),
        Item::Text(text) => form_of_text(text),
        Item::Boolean(_) => ComparedForm::of_kind(MismatchKind::Boolean),
        Item::Current(_) => return None,
    })
}

fn form_of_text(text: &str) -> ComparedForm {
    ComparedForm {
        kind: MismatchKind::Text,
        is_number: Number::from_plain(text).is_some(),
        is_time: true,
        is_boolean: matches!(text, "true" | "false"),
    }
}
