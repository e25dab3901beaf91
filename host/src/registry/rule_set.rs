//! All rules in force, and one table of what they ask about.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_guest_abi::TimeSpec;

use crate::calendar::TimePart;
use crate::history::{Aggregate, Previous};
use crate::registry::{Lists, Rule};
use crate::transaction::FieldAccess;

/// One immutable version of everything that decides a verdict besides the transaction and the history.
///
/// Rules ask by the slots of their own module; the set numbers the same questions of all rules once, so that each is
/// answered at most once per transaction, whoever asks.
#[derive(Debug)]
pub struct RuleSet {
    /// Strictly increasing with every change; 0 is the empty set before the first.
    pub version: u64,
    /// By instruction id.
    pub rules: Vec<RuleInForce>,
    /// The named lists.
    pub lists: Lists,
    /// The Git commit whose rules are among these, in hexadecimal digits; `None` when none ever was.
    pub commit: Option<Arc<str>>,
    /// Every field some rule reads.
    pub fields: Vec<FieldAccess>,
    /// Every text some rule compares with, numbered.
    pub symbols: HashMap<Box<str>, u32>,
    /// Every aggregate some rule asks for.
    pub aggregates: Vec<Arc<Aggregate>>,
    /// Every previous transaction some rule asks for.
    pub previous: Vec<Arc<Previous>>,
    /// Every part of a date-time some rule asks for.
    pub times: Vec<TimeQuestion>,
}

/// A rule with its slots resolved to the tables of the set.
#[derive(Debug)]
pub struct RuleInForce {
    /// What runs.
    pub rule: Arc<Rule>,
    /// Whether it does not run, and fails instead.
    pub is_quarantined: bool,
    /// Field slot to [`RuleSet::fields`].
    pub fields: Vec<u32>,
    /// Text slot to a number of [`RuleSet::symbols`].
    pub symbols: Vec<u32>,
    /// Aggregate slot to [`RuleSet::aggregates`].
    pub aggregates: Vec<u32>,
    /// Previous-transaction slot to [`RuleSet::previous`].
    pub previous: Vec<u32>,
    /// Time slot to [`RuleSet::times`].
    pub times: Vec<u32>,
}

/// Which part of which field.
#[derive(Debug, Clone)]
pub struct TimeQuestion {
    /// Of which field.
    pub field: FieldAccess,
    /// Which part, in which zone.
    pub part: TimePart,
}

impl RuleSet {
    /// The set of these rules and lists.
    #[must_use]
    pub fn new(version: u64, mut rules: Vec<Arc<Rule>>, lists: Lists) -> Self {
        rules.sort_by_key(|rule| rule.instruction.record.id);
        let mut tables = Tables::default();
        let rules = rules.into_iter().map(|rule| tables.resolve(rule)).collect();
        Self {
            version,
            rules,
            lists,
            commit: None,
            fields: tables.fields.items,
            symbols: tables.symbols,
            aggregates: tables.aggregates.items,
            previous: tables.previous.items,
            times: tables.times.items,
        }
    }
}

impl RuleSet {
    /// The same, with the Git commit whose rules are among its own.
    #[must_use]
    pub fn at_commit(self, commit: Option<Arc<str>>) -> Self {
        Self { commit, ..self }
    }
}

/// Things numbered in the order in which they were first met; `K` tells which are the same.
struct Numbered<T, K> {
    items: Vec<T>,
    numbers: HashMap<K, u32>,
}

impl<T, K> Default for Numbered<T, K> {
    fn default() -> Self {
        Self { items: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone, K: std::hash::Hash + Eq> Numbered<T, K> {
    fn number(&mut self, item: &T, key: K) -> u32 {
        let next = number_of(self.items.len());
        *self.numbers.entry(key).or_insert_with(|| {
            self.items.push(item.clone());
            next
        })
    }
}

#[derive(Default)]
struct Tables {
    fields: Numbered<FieldAccess, FieldAccess>,
    symbols: HashMap<Box<str>, u32>,
    // The history gives equal questions as one shared value: its address is its identity.
    aggregates: Numbered<Arc<Aggregate>, usize>,
    previous: Numbered<Arc<Previous>, usize>,
    times: Numbered<TimeQuestion, TimeSpec>,
}

impl Tables {
    fn resolve(&mut self, rule: Arc<Rule>) -> RuleInForce {
        let needs = &rule.module.manifest.needs;
        let fields = needs.fields.iter().map(|path| {
            let field = FieldAccess::bind(path);
            self.fields.number(&field, field.clone())
        });
        let fields = fields.collect();
        let symbols = needs.texts.iter().map(|text| self.symbol(text)).collect();
        let aggregates = rule
            .aggregates
            .iter()
            .map(|aggregate| self.aggregates.number(aggregate, Arc::as_ptr(aggregate).addr()))
            .collect();
        let previous = rule
            .previous
            .iter()
            .map(|previous| self.previous.number(previous, Arc::as_ptr(previous).addr()))
            .collect();
        let times = needs.times.iter().zip(&rule.times).map(|(spec, part)| {
            let question = TimeQuestion { field: FieldAccess::bind(&spec.field), part: part.clone() };
            self.times.number(&question, spec.clone())
        });
        let times = times.collect();
        let is_quarantined = rule.instruction.record.quarantine.is_some();
        RuleInForce { fields, symbols, aggregates, previous, times, is_quarantined, rule }
    }

    fn symbol(&mut self, text: &str) -> u32 {
        let next = number_of(self.symbols.len());
        *self.symbols.entry(text.into()).or_insert(next)
    }
}

/// Tables stay far below `u32::MAX`: rules and their needs are limited.
fn number_of(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
