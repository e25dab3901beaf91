//! A reference implementation for tests: a plain list of rows that is scanned in full. It shares no algorithm with the
//! history: no keys, chunks or slots, and sums in big integers.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use num_bigint::BigInt;
use num_traits::Zero;
use tollgate_guest_abi::{
    AggregateFunction, AggregateSpec, ArithmeticOperator, Comparison, Condition, FieldPath, Item, ListSource,
    Operand, PreviousSpec, TimeFunction, Window,
};
use tollgate_model::decimal::Decimal;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{EventTime, Json, StatusWords, Transaction, Value};

use crate::PastItem;

#[derive(Debug, Default)]
pub(super) struct ReferenceHistory {
    pub(super) rows: Vec<(Sequence, Arc<Transaction>)>,
    pub(super) lists: HashMap<String, Vec<String>>,
}

/// An owned value, by the kinds in the language reference.
#[derive(Debug, Clone, PartialEq)]
enum PlainValue {
    Nil,
    Boolean(bool),
    Number(f64),
    Text(String),
    /// Compared without case; a currency without blanks at its ends.
    Caseless(String),
    Time(i64),
    Array(Vec<PlainValue>),
    Object,
}

impl ReferenceHistory {
    /// Applies a step: adds a row or replaces one.
    pub(super) fn apply(&mut self, item: PastItem<'_>) {
        match item {
            PastItem::Accepted { sequence, transaction } => {
                self.rows.push((sequence, Arc::new(transaction.clone())));
            }
            PastItem::Updated { target, after, .. } => {
                let row = self.rows.iter_mut().find(|(sequence, _)| *sequence == target).unwrap();
                row.1 = Arc::new(after.clone());
            }
        }
    }

    pub(super) fn aggregate(&self, spec: &AggregateSpec, current: &Transaction, as_of: Sequence) -> f64 {
        let rows = self.matching(&spec.filter, spec.window, current, as_of);
        let values: Vec<Value<'_>> = rows.iter().map(|row| row.value(&spec.value)).collect();
        let numbers: Vec<Decimal> = values
            .iter()
            .filter_map(|value| if let Value::Number(number) = value { Some(*number) } else { None })
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "few rows")]
        match spec.function {
            AggregateFunction::Count => rows.len() as f64,
            AggregateFunction::Distinct => n_distinct(&values, &spec.value) as f64,
            _ if numbers.is_empty() => 0.0,
            AggregateFunction::Sum => quotient(&sum(&numbers), 1, 38),
            AggregateFunction::Avg => quotient(&sum(&numbers), numbers.len(), 38),
            AggregateFunction::Min => numbers.iter().min().unwrap().to_f64(),
            AggregateFunction::Max => numbers.iter().max().unwrap().to_f64(),
            AggregateFunction::Stddev => deviation(&numbers),
        }
    }

    pub(super) fn previous(&self, spec: &PreviousSpec, current: &Transaction, as_of: Sequence) -> bool {
        let condition = |pair: &tollgate_guest_abi::MatchPair| {
            let list = ListSource::Items(vec![pair.value.clone()]);
            Condition::In { value: Operand::Field(pair.field.clone()), list, negated: false }
        };
        let filter = Condition::All(spec.pairs.iter().map(condition).collect());
        !self.matching(&filter, spec.window, current, as_of).is_empty()
    }

    fn matching(
        &self,
        filter: &Condition,
        window: Window,
        current: &Transaction,
        as_of: Sequence,
    ) -> Vec<&Transaction> {
        let now = current.timestamp.micros();
        let mut named = Vec::new();
        name_currents(filter, &mut named);
        if named.iter().any(|path| current.value(path).is_missing()) {
            return Vec::new();
        }
        self.rows
            .iter()
            .filter(|(sequence, row)| {
                let age = now - row.timestamp.micros();
                *sequence < as_of && age >= 0 && age <= window.micros() && self.holds(filter, row, current)
            })
            .map(|(_, row)| row.as_ref())
            .collect()
    }

    fn holds(&self, condition: &Condition, row: &Transaction, current: &Transaction) -> bool {
        let read = |operand| read(operand, row, current);
        match condition {
            Condition::All(conditions) => {
                conditions.iter().all(|condition| self.holds(condition, row, current))
            }
            Condition::Any(conditions) => {
                conditions.iter().any(|condition| self.holds(condition, row, current))
            }
            Condition::Not(condition) => !self.holds(condition, row, current),
            Condition::Compare { left, operator, right } => compare(&read(left), *operator, &read(right)),
            Condition::In { value, list, negated } => {
                let value = read(value);
                let Some(elements) = self.elements(list, current) else { return false };
                value != PlainValue::Nil
                    && elements.iter().any(|element| compare(&value, Comparison::Equal, element)) != *negated
            }
            Condition::Matches { value, pattern, negated } => {
                let text = match read(value) {
                    PlainValue::Nil => return false,
                    PlainValue::Text(text) | PlainValue::Caseless(text) => Some(text),
                    PlainValue::Number(number) => Some(number.to_string()),
                    PlainValue::Boolean(boolean) => Some(boolean.to_string()),
                    PlainValue::Time(_) | PlainValue::Array(_) | PlainValue::Object => None,
                };
                text.is_some_and(|text| is_found(pattern, &text)) != *negated
            }
            Condition::Previous(_) => panic!("not in a filter"),
        }
    }

    fn elements(&self, list: &ListSource, current: &Transaction) -> Option<Vec<PlainValue>> {
        match list {
            ListSource::Items(items) => Some(
                items
                    .iter()
                    .map(|item| match item {
                        Item::Number(number) => PlainValue::Number(number.to_f64()),
                        Item::Text(text) => PlainValue::Text(text.clone()),
                        Item::Boolean(boolean) => PlainValue::Boolean(*boolean),
                        Item::Current(path) => seen(current, path),
                    })
                    .collect(),
            ),
            ListSource::Current(path) => Some(match seen(current, path) {
                PlainValue::Array(elements) => elements,
                single => vec![single],
            }),
            ListSource::Named(name) => {
                Some(self.lists.get(name)?.iter().cloned().map(PlainValue::Text).collect())
            }
        }
    }
}

/// Caches compiled patterns, because compiling takes far longer than searching.
fn is_found(pattern: &str, text: &str) -> bool {
    thread_local! {
        static COMPILED: RefCell<HashMap<String, regex::Regex>> = RefCell::default();
    }
    COMPILED.with_borrow_mut(|compiled| {
        let regex = compiled.entry(pattern.to_owned()).or_insert_with(|| regex::Regex::new(pattern).unwrap());
        regex.is_match(text)
    })
}

fn read(operand: &Operand, row: &Transaction, current: &Transaction) -> PlainValue {
    match operand {
        Operand::Number(number) => PlainValue::Number(number.to_f64()),
        Operand::Text(text) => PlainValue::Text(text.clone()),
        Operand::Boolean(boolean) => PlainValue::Boolean(*boolean),
        Operand::Field(path) => seen(row, path),
        Operand::Current(path) => seen(current, path),
        Operand::Negate(operand) => {
            number_or_nil(as_number(&read(operand, row, current)).map(|number| -number))
        }
        Operand::Arithmetic { left, operator, right } => {
            let sides = as_number(&read(left, row, current)).zip(as_number(&read(right, row, current)));
            number_or_nil(sides.and_then(|(left, right)| match operator {
                ArithmeticOperator::Add => Some(left + right),
                ArithmeticOperator::Subtract => Some(left - right),
                ArithmeticOperator::Multiply => Some(left * right),
                ArithmeticOperator::Divide => (right != 0.0).then(|| left / right),
            }))
        }
        Operand::Time(spec) => {
            assert!(spec.function == TimeFunction::HourOfDay && spec.zone.is_none(), "all the tests ask for");
            let micros = match seen(if spec.current { current } else { row }, &spec.field) {
                PlainValue::Time(micros) => Some(micros),
                PlainValue::Text(text) if spec.field.root() == "metadata" => EventTime::micros_of(&text),
                _ => None,
            };
            #[expect(clippy::cast_precision_loss, reason = "below 24")]
            number_or_nil(micros.map(|micros| (micros.div_euclid(3_600_000_000) % 24) as f64))
        }
        Operand::Aggregate(_) => panic!("not in a filter"),
    }
}

fn number_or_nil(number: Option<f64>) -> PlainValue {
    number.filter(|number| !number.is_nan()).map_or(PlainValue::Nil, PlainValue::Number)
}

fn seen(transaction: &Transaction, path: &FieldPath) -> PlainValue {
    if path.is_stage() {
        let stage = |status: &Arc<str>| PlainValue::Caseless(StatusWords::built_in().stage_of(status).into());
        return transaction.status.as_ref().map_or(PlainValue::Nil, stage);
    }
    match plain(transaction.value(path)) {
        PlainValue::Text(text) if path.is_status() => PlainValue::Caseless(text),
        PlainValue::Text(text) if path.is_currency() => PlainValue::Caseless(text.trim().to_owned()),
        plain => plain,
    }
}

fn plain(value: Value<'_>) -> PlainValue {
    match value {
        Value::Missing => PlainValue::Nil,
        Value::Boolean(boolean) => PlainValue::Boolean(boolean),
        Value::Number(number) => PlainValue::Number(number.to_f64()),
        Value::Text(text) => PlainValue::Text(text.to_owned()),
        Value::Caseless(text) => PlainValue::Text(text.compared.to_owned()),
        Value::Time(time) => PlainValue::Time(time.micros()),
        Value::List(items) => {
            PlainValue::Array(items.iter().map(|item| plain(Value::of_json(Some(item)))).collect())
        }
        Value::Object(_) => PlainValue::Object,
    }
}

fn as_number(value: &PlainValue) -> Option<f64> {
    match value {
        PlainValue::Number(number) => Some(*number),
        PlainValue::Text(text) | PlainValue::Caseless(text) => Decimal::from_plain(text).map(Decimal::to_f64),
        _ => None,
    }
}

/// The table of `docs/language.md`, "How values compare", row by row.
fn compare(left: &PlainValue, operator: Comparison, right: &PlainValue) -> bool {
    use PlainValue::{Boolean, Caseless, Nil, Number, Text, Time};
    if *left == Nil || *right == Nil {
        return false;
    }
    let numeric = || as_number(left)?.partial_cmp(&as_number(right)?);
    let instant = |text: &str| EventTime::micros_of(text);
    let (equal, order): (bool, Option<Ordering>) = match (left, right) {
        (Number(_), Number(_) | Text(_)) | (Text(_), Number(_)) => {
            (numeric() == Some(Ordering::Equal), numeric())
        }
        (Text(one), Text(other)) => (one == other, numeric()),
        (Caseless(one), Caseless(other) | Text(other)) | (Text(one), Caseless(other)) => {
            (one.eq_ignore_ascii_case(other), numeric())
        }
        (Caseless(text), Boolean(_)) => return compare(&Text(text.to_ascii_lowercase()), operator, right),
        (Boolean(_), Caseless(text)) => return compare(left, operator, &Text(text.to_ascii_lowercase())),
        (Caseless(text), _) => return compare(&Text(text.clone()), operator, right),
        (_, Caseless(text)) => return compare(left, operator, &Text(text.clone())),
        (Boolean(one), Boolean(other)) => (one == other, None),
        (Boolean(boolean), Text(text)) | (Text(text), Boolean(boolean)) => {
            (boolean.to_string() == *text, None)
        }
        (Time(one), Time(other)) => (one == other, Some(one.cmp(other))),
        (Time(one), Text(other)) => {
            (Some(*one) == instant(other), instant(other).map(|other| one.cmp(&other)))
        }
        (Text(one), Time(other)) => (instant(one) == Some(*other), instant(one).map(|one| one.cmp(other))),
        _ => (false, None),
    };
    match operator {
        Comparison::Equal => equal,
        Comparison::NotEqual => !equal,
        Comparison::Less => order.is_some_and(Ordering::is_lt),
        Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
        Comparison::Greater => order.is_some_and(Ordering::is_gt),
        Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
    }
}

/// Collects every path of the current transaction that a filter names.
fn name_currents<'c>(condition: &'c Condition, named: &mut Vec<&'c FieldPath>) {
    let of_items = |items: &'c [Item], named: &mut Vec<&'c FieldPath>| {
        named.extend(
            items.iter().filter_map(|item| if let Item::Current(path) = item { Some(path) } else { None }),
        );
    };
    match condition {
        Condition::All(conditions) | Condition::Any(conditions) => {
            conditions.iter().for_each(|condition| name_currents(condition, named));
        }
        Condition::Not(condition) => name_currents(condition, named),
        Condition::Compare { left, right, .. } => {
            name_operand(left, named);
            name_operand(right, named);
        }
        Condition::In { value, list, .. } => {
            name_operand(value, named);
            match list {
                ListSource::Items(items) => of_items(items, named),
                ListSource::Current(path) => named.push(path),
                ListSource::Named(_) => {}
            }
        }
        Condition::Matches { value, .. } => name_operand(value, named),
        Condition::Previous(_) => {}
    }
}

fn name_operand<'c>(operand: &'c Operand, named: &mut Vec<&'c FieldPath>) {
    match operand {
        Operand::Current(path) => named.push(path),
        Operand::Time(spec) if spec.current => named.push(&spec.field),
        Operand::Arithmetic { left, right, .. } => {
            name_operand(left, named);
            name_operand(right, named);
        }
        Operand::Negate(operand) => name_operand(operand, named),
        _ => {}
    }
}

/// Converts to units of 10^-38.
fn units(number: Decimal) -> BigInt {
    BigInt::from(number.mantissa()) * BigInt::from(10).pow(38 - u32::from(number.scale()))
}

fn sum(numbers: &[Decimal]) -> BigInt {
    numbers.iter().copied().map(units).sum()
}

fn deviation(numbers: &[Decimal]) -> f64 {
    let n = BigInt::from(numbers.len());
    let total = sum(numbers);
    // Sum of the squared distances from the mean, times n squared to stay whole.
    let distances: BigInt = numbers.iter().map(|number| (units(*number) * &n - &total).pow(2)).sum();
    match numbers.len() {
        0 | 1 => 0.0,
        many => quotient(&distances, many * many * (many - 1), 76).sqrt(),
    }
}

/// Computes `numerator / (n · 10^scale)`; the standard library parses the digits.
fn quotient(numerator: &BigInt, n: usize, scale: usize) -> f64 {
    const DIGITS: u32 = 120;
    let widened = numerator * BigInt::from(10).pow(DIGITS);
    let whole = &widened / BigInt::from(n);
    let goes_on = !(&widened - &whole * BigInt::from(n)).is_zero();
    format!("{whole}{}e-{}", u8::from(goes_on), DIGITS as usize + 1 + scale).parse().unwrap()
}

fn n_distinct(values: &[Value<'_>], of: &FieldPath) -> usize {
    fn spell(json: &Json) -> String {
        match json {
            Json::Null => "null".into(),
            Json::Boolean(boolean) => boolean.to_string(),
            Json::Number(number) => number.value().to_string(),
            Json::WideNumber(text) => format!("wide {text}"),
            Json::Text(text) => format!("{text:?}"),
            Json::Array(items) => format!("{:?}", items.iter().map(spell).collect::<Vec<_>>()),
            Json::Object(entries) => {
                let entries: std::collections::BTreeMap<_, _> =
                    entries.iter().map(|(key, value)| (key, spell(value))).collect();
                format!("{entries:?}")
            }
        }
    }
    let spelled: HashSet<String> = values
        .iter()
        .filter_map(|value| match value {
            Value::Missing => None,
            Value::Boolean(boolean) => Some(boolean.to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::Text(text) if of.is_status() => Some(format!("{:?}", text.to_ascii_lowercase())),
            Value::Text(text) if of.is_currency() => Some(format!("{:?}", text.trim().to_ascii_lowercase())),
            Value::Text(text) => Some(format!("{text:?}")),
            Value::Caseless(text) => Some(format!("{:?}", text.sent)),
            Value::Time(time) => Some(format!("at {}", time.micros())),
            Value::List(items) => Some(spell(&Json::Array(items.to_vec()))),
            Value::Object(object) => Some(spell(object)),
        })
        .collect();
    let texts = || values.iter().filter_map(Value::as_text).filter_map(Decimal::from_plain);
    let numbers: HashSet<Decimal> = values
        .iter()
        .filter_map(|value| if let Value::Number(number) = value { Some(*number) } else { None })
        .collect();
    spelled.len() - numbers.into_iter().filter(|number| texts().any(|text| text == *number)).count()
}
