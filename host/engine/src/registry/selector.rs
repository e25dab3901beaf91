//! Selects the transactions for which a body must run.

use tollgate_compiler::emit::{NumberRange, Selection};

use crate::registry::SlotBindings;
use crate::registry::tables::RuleSetTables;

/// A [`Selection`] with its names resolved to the tables of a rule set.
#[derive(Debug, Default)]
pub struct Selector {
    /// Indices in [`RuleSet::fields`](crate::registry::RuleSet::fields), each with the sorted symbols that the field
    /// may have.
    pub texts: Box<[(u32, Box<[u32]>)]>,
    /// Indices of fields, each with its range.
    pub ranges: Box<[(u32, NumberRange)]>,
}

impl Selector {
    /// Resolves the selection of a body with the slot bindings of its module.
    pub(super) fn new(selection: &Selection, asker: &SlotBindings, tables: &RuleSetTables) -> Self {
        let fields = &asker.bound.module.manifest.needs.fields;
        let number_of = |path| {
            let slot = fields.iter().position(|field| field == path)?;
            asker.fields.get(slot).copied()
        };
        // Texts of a long list have no symbols, since the host searches them; such a condition is dropped.
        let symbols = |texts: &[String]| {
            let symbols = texts.iter().map(|text| tables.symbols.get(text));
            let mut symbols = symbols.collect::<Option<Box<[u32]>>>()?;
            symbols.sort_unstable();
            Some(symbols)
        };
        let texts =
            selection.texts.iter().filter_map(|(path, texts)| Some((number_of(path)?, symbols(texts)?)));
        let ranges = selection.ranges.iter().filter_map(|(path, range)| Some((number_of(path)?, *range)));
        Self { texts: texts.collect(), ranges: ranges.collect() }
    }
}
