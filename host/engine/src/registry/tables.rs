//! Assigns shared indices to the needs of all modules of a set.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use tollgate_guest_abi::{Semantics, TimeSpec};
use tollgate_history::{AggregateQuery, PreviousQuery};
use tollgate_model::transaction::FieldAccess;

use crate::registry::slot_bindings::SymbolTexts;
use crate::registry::symbols::Symbols;
use crate::registry::{BoundModule, SlotBindings, TimeQuestion};

#[derive(Default)]
pub(super) struct RuleSetTables {
    pub(super) fields: Interner<FieldAccess, FieldAccess>,
    pub(super) symbols: Symbols,
    pub(super) patterns: Interner<(), Box<str>>,
    pub(super) lists: Interner<(), Arc<str>>,
    // The history returns equal queries as one shared value, so the address identifies it.
    pub(super) aggregates: Interner<Arc<AggregateQuery>, usize>,
    pub(super) previous: Interner<Arc<PreviousQuery>, usize>,
    pub(super) times: Interner<TimeQuestion, (TimeSpec, Semantics)>,
}

/// Bindings of a module before the total number of texts is known.
pub(super) struct PendingBindings {
    asker: SlotBindings,
    symbols: Vec<u32>,
}

impl PendingBindings {
    pub(super) fn finish(self, tables: &RuleSetTables) -> SlotBindings {
        SlotBindings { texts: SymbolTexts::new(&self.symbols, tables.symbols.len()), ..self.asker }
    }
}

/// Items numbered in order of first use; equal keys `K` share a number.
pub(super) struct Interner<T, K> {
    pub(super) items: Vec<T>,
    numbers: HashMap<K, u32>,
}

impl<T, K> Default for Interner<T, K> {
    fn default() -> Self {
        Self { items: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone, K: Hash + Eq> Interner<T, K> {
    fn number(&mut self, item: &T, key: K) -> u32 {
        let next = number_of(self.items.len());
        *self.numbers.entry(key).or_insert_with(|| {
            self.items.push(item.clone());
            next
        })
    }
}

impl RuleSetTables {
    pub(super) fn resolve(&mut self, bound: &Arc<BoundModule>) -> PendingBindings {
        let (needs, semantics) = (&bound.module.manifest.needs, bound.module.manifest.semantics);
        let fields = needs.fields.iter().map(|path| {
            let field = FieldAccess::bind(path, semantics, &bound.status_words);
            self.fields.number(&field, field.clone())
        });
        let fields = fields.collect();
        let symbols = needs.texts.iter().map(|text| self.symbols.number(text)).collect();
        let patterns =
            needs.patterns.iter().map(|pattern| self.patterns.number(&(), pattern.as_str().into()));
        let patterns = patterns.collect();
        let lists = bound.lists.iter().map(|list| self.lists.number(&(), Arc::clone(&list.key)));
        let lists = lists.collect();
        let aggregates = bound
            .aggregates
            .iter()
            .map(|aggregate| self.aggregates.number(aggregate, Arc::as_ptr(aggregate).addr()))
            .collect();
        let previous = bound
            .previous
            .iter()
            .map(|previous| self.previous.number(previous, Arc::as_ptr(previous).addr()))
            .collect();
        let times = needs.times.iter().zip(&bound.times).map(|(spec, part)| {
            let field = FieldAccess::bind(&spec.field, semantics, &bound.status_words);
            let question = TimeQuestion { field, part: part.clone() };
            self.times.number(&question, (spec.clone(), semantics))
        });
        let times = times.collect();
        let (bound, texts) = (Arc::clone(bound), SymbolTexts::new(&[], 0));
        let asker = SlotBindings { bound, fields, texts, patterns, lists, aggregates, previous, times };
        PendingBindings { asker, symbols }
    }
}

/// Tables stay far below `u32::MAX`, since rules and their needs are limited.
fn number_of(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
