//! Which transactions a body has nothing to do with.

use tollgate_compiler::emit::{NumberRange, Selection};

use crate::registry::SlotBindings;
use crate::registry::tables::RuleSetTables;

/// A [`Selection`] with its names resolved to the tables of a rule set.
#[derive(Debug, Default)]
pub struct Selector {
    /// Numbers of fields in [`RuleSet::fields`](crate::registry::RuleSet::fields), and the symbols that each is one of, in order.
    pub texts: Box<[(u32, Box<[u32]>)]>,
    /// Numbers of fields, and where each of them lies.
    pub ranges: Box<[(u32, NumberRange)]>,
}

impl Selector {
    /// Of a body whose module asks for these fields and texts.
    pub(super) fn of(selection: &Selection, asker: &SlotBindings, tables: &RuleSetTables) -> Self {
        let fields = &asker.bound.module.manifest.needs.fields;
        let number_of = |path| {
            let slot = fields.iter().position(|field| field == path)?;
            asker.fields.get(slot).copied()
        };
        // The texts of a long list are no symbols: the host looks for them, and a field that is one of them is not known as such.
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
