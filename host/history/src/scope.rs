//! The past transactions a query is about, split into what a series holds, what a key finds, and what is tested row by
//! row.
//!
//! ```text
//!  source == $current.source and status in ("failed", "declined") and amount > $current.amount
//!  └──── key: looked up ───┘     └── selection: in the series ──┘     └ residual: row by row ┘
//!
//!  Condition ─▶ SplitFilter ─▶ ScopePlan ──with its Series──▶ Scope ──with the current transaction──▶ ScopeQuery
//!              (split.rs)      once per rule                                                          once per answer
//! ```

mod split;
mod stages_named;

use std::sync::Arc;

use tollgate_guest_abi::{Condition, FieldPath, Semantics, Window, prices};
use tollgate_model::calendar::filter_names_a_zone;
use tollgate_model::decimal::Decimal;
use tollgate_model::named_list::NamedLists;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{FieldAccess, StatusWords, Transaction, Value, in_small_letters};

use crate::filter::{Binder, ContextDemand, Filter, FilterContext, FilterError, NOTHING};
use crate::key::{Key, KeyQuery, OnlyText};
use crate::layout::{ReadingData, SeriesSpec};
use crate::lookup_budget::{LookupBudget, RowPrices, SHARES_PER_UNIT};
use crate::lookup_error::LookupError;
use crate::row::{Columns, Row, RowField};
use crate::series::{Series, SeriesUse};
use crate::spill::{Extent, SpillMiss};
use crate::timeline::{ChunkBytes, OpenRun, RestingRun, Run, TimeRange, TimelineVisitor};

use split::{Equality, KeyLiteral, SplitFilter};
use stages_named::names_stage;

/// Bytes and keys of the current transaction whose reading the price of a lookup covers.
const SHORT_READ_MAX: u32 = 512;
/// Size of the values of a run that are tested while its series is locked, in bytes: that of as many identifiers as a
/// run has rows.
const VALUE_BYTES_LOCKED_MAX: usize = 4 << 10;

/// Where the conditions on rows alone are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SelectionKind {
    /// In a series that holds only selected rows, so that precomputed sums suffice.
    InSeries,
    /// As `InSeries`, up to a price; the others row by row.
    CheapInSeries,
    /// Row by row, in the series of the key alone.
    RowByRow,
}

/// A bound filter and window that has no series yet.
#[derive(Debug)]
pub(super) struct ScopePlan {
    pub(super) spec: SeriesSpec,
    /// Fields it reads from rows besides the amount.
    pub(super) columns: Columns,
    sought: Vec<KeyConstraint>,
    residual: Filter,
    demand: ContextDemand,
    pub(super) window: Window,
}

/// A bound filter and window with its series.
#[derive(Debug)]
pub(super) struct Scope {
    plan: ScopePlan,
    series: Arc<Series>,
    /// Maps the columns of the plan to those of the series.
    places: Box<[usize]>,
}

/// The value that a key field must equal.
#[derive(Debug, PartialEq)]
enum KeyConstraint {
    Number(Decimal),
    /// A number under the first semantics.
    Double(f64),
    Text(Box<str>),
    Boolean(bool),
    /// A value of the current transaction.
    Current(FieldAccess),
    /// A value of the current transaction, looked up in a caseless field.
    CaselessCurrent(FieldAccess),
}

/// A query about one transaction: the key, the time range and the values for the row tests.
#[derive(Debug)]
pub(super) struct ScopeQuery<'a> {
    scope: &'a Scope,
    key: &'a KeyQuery<'a>,
    stretch: TimeRange,
    scene: &'a FilterContext<'a>,
    effort: LookupBudget<'a>,
}

impl ScopePlan {
    /// Splits and binds a filter. `measure` is the summed field when it is not the amount.
    ///
    /// # Errors
    /// When the condition is not a valid filter.
    pub(super) fn bind(
        filter: &Condition,
        semantics: Semantics,
        window: Window,
        measure: Option<&FieldPath>,
        selecting: SelectionKind,
        data: ReadingData<'_>,
    ) -> Result<Self, FilterError> {
        let SplitFilter { mut key, selection, rest } = SplitFilter::of(filter, selecting, semantics);
        key.sort_unstable_by_key(|equality| equality.field);
        let fields: Vec<FieldPath> = key.iter().map(|equality| equality.field.clone()).collect();
        let sought =
            key.iter().map(|equality| KeyConstraint::of(equality, semantics, data.status_words)).collect();
        let measure = measure.filter(|_| selecting != SelectionKind::RowByRow);
        let measured = measure.map(|path| FieldAccess::bind(path, semantics, data.status_words));
        let mut binder = Binder::new(semantics, data, measured);
        let residual = binder.filter(rest)?;
        let (demand, columns) = binder.finish();
        let zones = data.zones.digest_text().filter(|_| filter_names_a_zone(&selection)).map(Into::into);
        let names_stages = fields.iter().any(FieldPath::is_stage) || selection.iter().any(names_stage);
        let status_words =
            (names_stages && semantics.has_stage()).then(|| data.status_words.digest_text().into());
        let spec =
            SeriesSpec { fields, selection, measure: measure.cloned(), semantics, zones, status_words };
        Ok(Self { spec, columns, sought, residual, demand, window })
    }

    /// Returns a field of the rows, which is read besides those of the filter.
    pub(super) fn field(&mut self, access: &FieldAccess) -> RowField {
        self.columns.field(access)
    }

    #[inline]
    fn only_text<'k>(&'k self, current: &'k Transaction) -> Option<&'k str> {
        let [sought] = &*self.sought else { return None };
        sought.text(current)
    }

    /// Writes the key to look up into an empty one; returns `None` when nothing equals it.
    #[inline]
    fn write(&self, key: &mut Key, current: &Transaction) -> Option<()> {
        key.fill(&self.sought, |key, sought| sought.add_to(key, current, self.spec.semantics))
    }

    /// Completes the plan with its series. `places` maps the columns of the plan to those of the series.
    pub(super) fn over(self, series: Arc<Series>, places: Box<[usize]>) -> Scope {
        debug_assert_eq!(&self.spec, series.spec(), "the series must match the plan");
        series.widen(self.window.micros());
        Scope { plan: self, series, places }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.series.narrow(self.plan.window.micros());
    }
}

impl Scope {
    pub(super) fn series_use(&self) -> SeriesUse {
        SeriesUse { series: Arc::as_ptr(&self.series).addr(), n_kept_bytes: self.series.n_kept_bytes() }
    }

    pub(super) const fn series(&self) -> &Arc<Series> {
        &self.series
    }

    /// Returns whether every row of the key is selected, so that precomputed sums suffice.
    pub(super) const fn selects_all_of_key(&self) -> bool {
        self.plan.residual.is_empty()
    }

    /// Returns the prices of reading one row and testing it.
    pub(super) fn row_prices(&self) -> RowPrices {
        RowPrices {
            before_v4: self.plan.residual.weight().saturating_mul(SHARES_PER_UNIT),
            since_v4: (prices::ROW + self.plan.residual.price()).saturating_mul(SHARES_PER_UNIT),
        }
    }

    /// Returns whether it consists of a key only.
    pub(super) fn is_plain(&self) -> bool {
        self.selects_all_of_key() && self.plan.demand.is_empty()
    }

    /// Returns whether it looks up the same key in the same series as another scope.
    pub(super) fn seeks_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.series, &other.series) && self.plan.sought == other.plan.sought
    }

    /// Returns the text to look up when the key is a single text.
    #[inline]
    pub(super) fn only_text<'k>(&'k self, current: &'k Transaction) -> Option<&'k str> {
        self.plan.only_text(current)
    }

    #[inline]
    pub(super) fn stretch(&self, current: &Transaction, as_of: Sequence) -> TimeRange {
        let to = current.timestamp.micros();
        let from = to.saturating_sub(self.plan.window.micros());
        TimeRange { from, to, as_of }
    }

    /// Returns the series column of a query column.
    pub(super) fn place_of(&self, column: usize) -> Option<usize> {
        self.places.get(column).copied()
    }

    /// Returns the price of what is read of the current transaction, beyond what the price of a lookup covers.
    fn price_of_start(&self, current: &Transaction, effort: &LookupBudget<'_>) -> u64 {
        if !effort.has_prices()
            || (self.plan.demand.is_empty() && current.longest_reads.of_field <= SHORT_READ_MAX)
        {
            return 0;
        }
        let of_key = self.plan.sought.iter().map(|sought| sought.n_bytes_read(current)).sum::<usize>() as u64;
        of_key.saturating_add(self.plan.demand.price(current))
    }

    /// Queries for this transaction, as of this sequence number, within a budget; returns `None` when nothing can
    /// match.
    #[inline]
    pub(super) fn search<T>(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
        effort: LookupBudget<'_>,
        ask: impl FnOnce(&ScopeQuery<'_>) -> T,
    ) -> Option<T> {
        effort.charge_at_start(self.price_of_start(current, &effort));
        let met;
        // Over the budget nothing is read; the query fails before it looks at the history.
        let scene = if self.plan.demand.is_empty() || effort.is_over() {
            &NOTHING
        } else {
            met = self.plan.demand.meet(current, lists)?;
            &met
        };
        let mut written;
        let key = match self.only_text(current).and_then(OnlyText::of) {
            Some(text) => KeyQuery::Text(text),
            None => {
                written = Key::default();
                if !effort.is_over() {
                    self.plan.write(&mut written, current)?;
                }
                KeyQuery::Written(&written)
            }
        };
        let stretch = self.stretch(current, as_of);
        Some(ask(&ScopeQuery { scope: self, key: &key, stretch, scene, effort }))
    }
}

impl ScopeQuery<'_> {
    /// Visits every entry with the key in the time range, along with others of its chunk. The series is locked
    /// meanwhile.
    ///
    /// # Errors
    /// When the contents are uncertain, part of the range was discarded, or the budget is exceeded.
    #[inline]
    pub(super) fn visit(&self, look: &mut impl TimelineVisitor) -> Result<(), LookupError> {
        self.scope.series.visit(self.key, &self.stretch, &self.effort, look)?;
        if self.effort.is_over() { Err(LookupError::TooManyRows) } else { Ok(()) }
    }

    /// Reads bytes that are not in memory. Call this only when the series is no longer locked.
    ///
    /// # Errors
    /// When the bytes cannot be read or are no longer there, or the time has passed.
    #[inline]
    pub(super) fn read(&self, extent: Extent) -> Result<Arc<[u8]>, SpillMiss<LookupError>> {
        if self.effort.is_late() {
            return Err(LookupError::TooSlow.into());
        }
        self.scope.series.read(extent).map_err(SpillMiss::among)
    }

    /// Copies rows, with the columns that the query reads, if testing them may take long: the series is locked. Most
    /// tests take less time than the copy.
    pub(super) fn copy_of(&self, run: &OpenRun<'_>) -> Option<Run> {
        let places = &self.scope.places;
        let is_costly = self.scope.plan.residual.price() >= prices::SEARCH
            || run.n_value_bytes(places) > VALUE_BYTES_LOCKED_MAX;
        is_costly.then(|| run.copy_of(places))
    }

    /// Returns the rows of a chunk, with the columns that the query reads.
    ///
    /// # Errors
    /// When its bytes cannot be read or are no longer there, or the time has passed.
    pub(super) fn open(&self, chunk: &ChunkBytes) -> Result<RestingRun, SpillMiss<LookupError>> {
        if self.effort.is_late() {
            return Err(LookupError::TooSlow.into());
        }
        chunk.open_columns(&self.scope.places, |extent| self.read(extent))
    }

    pub(super) const fn stretch(&self) -> &TimeRange {
        &self.stretch
    }

    pub(super) const fn effort(&self) -> &LookupBudget<'_> {
        &self.effort
    }

    /// Passes every matching row of a run to `suffices` until one suffices or the budget is exceeded.
    pub(super) fn each_match(&self, run: OpenRun<'_>, mut suffices: impl FnMut(Row<'_>) -> bool) {
        run.each_shown(&self.stretch, &self.scope.places, |row| {
            !self.effort.take(1)
                || (self.scope.plan.residual.holds(row, self.scene, Some(&self.effort)) && suffices(row))
        });
    }
}

impl KeyConstraint {
    /// Returns the bytes and keys of the current transaction that writing it reads.
    fn n_bytes_read(&self, current: &Transaction) -> usize {
        match self {
            KeyConstraint::Current(field) | KeyConstraint::CaselessCurrent(field) => {
                let (value, n_keys) = field.read_counted(current);
                // A text that is a number is read once more for its class.
                n_keys + 2 * value.as_text().map_or(0, str::len)
            }
            KeyConstraint::Number(_)
            | KeyConstraint::Double(_)
            | KeyConstraint::Text(_)
            | KeyConstraint::Boolean(_) => 0,
        }
    }

    /// Returns the value that a key condition looks up. A caseless field has keys in lowercase.
    fn of(equality: &Equality<'_>, semantics: Semantics, words: &Arc<StatusWords>) -> Self {
        let is_caseless = FieldAccess::bind(equality.field, semantics, words).is_caseless();
        match &equality.sought {
            KeyLiteral::Number(number) => match Decimal::from_plain(number.as_str()) {
                Some(decimal) if semantics.is_exact() => KeyConstraint::Number(decimal),
                _ => KeyConstraint::Double(number.to_f64()),
            },
            KeyLiteral::Text(text) if is_caseless => KeyConstraint::Text(in_small_letters(text).into()),
            KeyLiteral::Text(text) => KeyConstraint::Text((*text).into()),
            KeyLiteral::Boolean(boolean) => KeyConstraint::Boolean(*boolean),
            KeyLiteral::Current(path) => {
                let field = FieldAccess::bind(path, semantics, words);
                if is_caseless {
                    KeyConstraint::CaselessCurrent(field)
                } else {
                    KeyConstraint::Current(field)
                }
            }
        }
    }

    #[inline]
    fn text<'k>(&'k self, current: &'k Transaction) -> Option<&'k str> {
        match self {
            KeyConstraint::Current(field) => match field.read(current) {
                Value::Text(text) => Some(text),
                _ => None,
            },
            KeyConstraint::Text(text) => Some(text),
            KeyConstraint::CaselessCurrent(_)
            | KeyConstraint::Number(_)
            | KeyConstraint::Double(_)
            | KeyConstraint::Boolean(_) => None,
        }
    }

    #[inline]
    fn add_to(&self, key: &mut Key, current: &Transaction, semantics: Semantics) -> Option<()> {
        match self {
            KeyConstraint::Current(field) => key.add(&field.read(current), semantics, current),
            KeyConstraint::CaselessCurrent(field) => {
                key.add(&field.read(current).caseless(), semantics, current)
            }
            KeyConstraint::Number(number) => key.add(&Value::Number(*number), semantics, current),
            KeyConstraint::Double(number) => key.add_number(*number),
            KeyConstraint::Text(text) => key.add(&Value::Text(text), semantics, current),
            KeyConstraint::Boolean(boolean) => key.add(&Value::Boolean(*boolean), semantics, current),
        }
    }
}
