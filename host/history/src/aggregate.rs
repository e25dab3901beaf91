//! A query whose answer is a number.
//!
//! ```text
//!  host call
//!     ├─ AggregateBatch::answer ─────────────┐
//!     ├─ AggregateQuery::answer_from_sums ───┴─ answer_plain   one lookup: the key is one text, everything is in memory
//!     └─ AggregateQuery::answer_within
//!           └─ Scope::search ──┬─ count_of      `count`; precomputed sums suffice
//!              (scope.rs)      ├─ of_amounts    other functions; precomputed sums suffice
//!                              └─ of_rows       row by row, within a budget
//!                                   │
//!  Series ─▶ KeyTable ─▶ Timeline (timeline.rs) ─▶ TimelineVisitor ─▶ AmountTally ─▶ aggregate
//! ```
//!
//! All paths give the same answer. The batch and `answer_from_sums` are fast paths that return nothing where they do not
//! apply.

use smallvec::SmallVec;
use tollgate_guest_abi::prices::{DISTINCT_VALUE, ROW_TEXT_BYTES};
use tollgate_guest_abi::{AggregateFunction, AggregateSpec, Semantics};
use tollgate_model::named_list::NamedLists;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{FieldAccess, Transaction};

use crate::distinct::Distinct;
use crate::exact::{AggregateValue, ExactValue};
use crate::filter::FilterError;
use crate::key::OnlyText;
use crate::key_table::Entries;
use crate::layout::ReadingData;
use crate::lookup_budget::{
    CostedAnswer, LookupBudget, LookupDeadline, LookupLimits, RowPrices, SHARES_PER_UNIT,
};
use crate::lookup_error::LookupError;
use crate::owned_value::OwnedValue;
use crate::row::RowField;
use crate::scope::{Scope, ScopePlan, ScopeQuery, SelectionKind};
use crate::series::SeriesUse;
use crate::spill::{Extent, SpillMiss, until_read};
use crate::tally::{AmountSink, AmountTally, Total};
use crate::timeline::{ChunkBytes, EntryBlock, EntrySum, OpenRun, Run, TimeRange, TimelineVisitor};

/// Usual number of chunks to read back: one at each edge of the window, and the latest run.
const ABSENT_IN_PLACE: usize = 3;

/// An [`AggregateSpec`] bound to a series, to be answered at any time, from any thread.
#[derive(Debug)]
pub struct AggregateQuery {
    function: AggregateFunction,
    value: RowField,
    scope: Scope,
    figures_suffice: bool,
    /// Precomputed sums suffice, and the key is all it needs from the current transaction.
    is_plain: bool,
    /// Prices of one row.
    prices: RowPrices,
}

impl AggregateQuery {
    /// Returns the plan of the scope, and the row field to aggregate.
    pub(super) fn plan(
        spec: &AggregateSpec,
        semantics: Semantics,
        selecting: SelectionKind,
        data: ReadingData<'_>,
    ) -> Result<(ScopePlan, RowField), FilterError> {
        let value = FieldAccess::bind(&spec.value, semantics, data.status_words);
        let is_measured = is_summed_up(spec.function) && !value.is_amount();
        let measure = (is_measured && spec.function != AggregateFunction::Count).then_some(&spec.value);
        let mut plan = ScopePlan::bind(&spec.filter, semantics, spec.window, measure, selecting, data)?;
        // Counting reads no field.
        let value = match spec.function {
            AggregateFunction::Count => RowField::Amount,
            _ => plan.field(&value),
        };
        Ok((plan, value))
    }

    pub(super) fn new(function: AggregateFunction, value: RowField, scope: Scope) -> Self {
        let selects_all = scope.selects_all_of_key();
        let figures_suffice = is_summed_up(function) && matches!(value, RowField::Amount) && selects_all;
        let mut prices = scope.row_prices();
        prices.since_v4 += value.price() * SHARES_PER_UNIT;
        if function == AggregateFunction::Distinct && selects_all {
            // Each value of a chunk was taken once.
            prices.before_v4 = 1;
        }
        let is_plain = figures_suffice && scope.is_plain();
        Self { function, value, scope, figures_suffice, is_plain, prices }
    }

    /// Returns the series that the query needs.
    #[must_use]
    pub fn series_use(&self) -> SeriesUse {
        self.scope.series_use()
    }

    /// Returns the aggregate as seen from `current`. It covers transactions accepted before `as_of` whose event time
    /// lies in the window that ends at the event time of `current`, both ends included. Returns 0 when there is none,
    /// or when `current` lacks a value that the filter names; never NaN.
    ///
    /// # Errors
    /// When a transaction in the window was discarded or cannot be read back. No estimate is returned.
    pub fn answer(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
    ) -> Result<f64, LookupError> {
        let deadline = LookupDeadline::never();
        let limits = LookupLimits::none(&deadline);
        self.answer_within(current, as_of, lists, limits).map(|answered| answered.value.nearest)
    }

    /// Same as [`AggregateQuery::answer`], but within limits.
    ///
    /// # Errors
    /// Also when it would cost more, or the time has passed.
    pub fn answer_within(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
        limits: LookupLimits<'_>,
    ) -> Result<CostedAnswer<AggregateValue>, LookupError> {
        self.tally(current, as_of, lists, limits, AmountTally::finish)
    }

    /// Same as [`AggregateQuery::answer_within`], but returns the exact value. The cost is the same.
    ///
    /// # Errors
    /// The same.
    pub fn exact_within(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
        limits: LookupLimits<'_>,
    ) -> Result<CostedAnswer<ExactValue>, LookupError> {
        self.tally(current, as_of, lists, limits, AmountTally::exact)
    }

    fn tally<T>(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
        limits: LookupLimits<'_>,
        finish: impl Fn(&AmountTally) -> T,
    ) -> Result<CostedAnswer<T>, LookupError> {
        let effort = LookupBudget::new(limits, self.prices);
        let answer = self.scope.search(current, as_of, lists, effort, |search| {
            if search.effort().is_over() {
                return Err(LookupError::TooManyRows);
            }
            let tally = match (self.figures_suffice, self.function) {
                (true, AggregateFunction::Count) => until_read(|| Self::count_of(search)),
                (true, _) => until_read(|| self.of_amounts(search)),
                (false, _) => until_read(|| self.of_rows(search)),
            };
            Ok(CostedAnswer { value: finish(&tally?), fuel: search.effort().fuel() })
        });
        answer.unwrap_or_else(|| Ok(CostedAnswer { value: finish(&self.empty_tally()), fuel: 0 }))
    }

    /// Fast path of most queries, whose answer costs nothing. Returns `None` unless precomputed sums suffice, the key is
    /// one text, and everything is in memory.
    #[must_use]
    pub fn answer_from_sums(&self, current: &Transaction, as_of: Sequence) -> Option<AggregateValue> {
        if !self.is_plain {
            return None;
        }
        let mut answer = None;
        answer_plain(self, std::iter::empty(), current, as_of, |_, value| answer = Some(value));
        answer
    }

    /// Returns whether two queries differ only in window and function, and precomputed sums answer both.
    pub(super) fn shares_scope_with(&self, other: &Self) -> bool {
        self.is_plain && other.is_plain && self.scope.seeks_as(&other.scope)
    }

    pub(super) const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns the answer from the entries of one key; `None` when a chunk must be read back or was discarded.
    #[inline]
    pub(super) fn of_entries(&self, entries: &Entries<'_>, stretch: &TimeRange) -> Option<AggregateValue> {
        match self.function {
            AggregateFunction::Count => {
                let mut counted = CountVisitor::over(stretch);
                entries.visit(stretch, &mut counted)?;
                counted.absent.is_empty().then(|| AggregateValue::of_count(counted.n_entries))
            }
            AggregateFunction::Sum => AmountVisitor::over(stretch, Total::default()).of_entries(entries),
            _ => AmountVisitor::over(stretch, self.empty_tally()).of_entries(entries),
        }
    }

    fn count_of(search: &ScopeQuery<'_>) -> Result<AmountTally, SpillMiss<LookupError>> {
        let mut counted = CountVisitor::over(search.stretch());
        search.effort().begin();
        search.visit(&mut counted)?;
        for extent in std::mem::take(&mut counted.absent) {
            counted.n_entries += OpenRun::of(&search.read(extent)?, &[]).n_shown(counted.stretch);
        }
        Ok(AmountTally::Count(counted.n_entries))
    }

    fn of_amounts(&self, search: &ScopeQuery<'_>) -> Result<AmountTally, SpillMiss<LookupError>> {
        let mut amounts = AmountVisitor::over(search.stretch(), self.empty_tally());
        search.effort().begin();
        search.visit(&mut amounts)?;
        if !amounts.absent.is_empty() {
            amounts.take_in_absent(search)?;
        }
        Ok(amounts.tally)
    }

    fn of_rows(&self, search: &ScopeQuery<'_>) -> Result<AmountTally, SpillMiss<LookupError>> {
        let mut taken = LatestVisitor {
            question: self,
            search,
            tally: self.empty_tally(),
            latest: Vec::new(),
            bodies: Vec::new(),
        };
        search.effort().begin_rows();
        search.visit(&mut taken)?;
        let LatestVisitor { mut tally, latest, bodies, .. } = taken;
        latest.iter().for_each(|latest| self.add_rows(search, latest.open(), &mut tally));
        for body in bodies {
            if search.effort().is_over() {
                break;
            }
            let run = search.open(&body)?;
            self.add_rows(search, run.open(), &mut tally);
        }
        if search.effort().is_over() { Err(LookupError::TooManyRows.into()) } else { Ok(tally) }
    }

    fn empty_tally(&self) -> AmountTally {
        AmountTally::new(self.function, self.scope.series().spec().semantics)
    }

    fn add_rows(&self, search: &ScopeQuery<'_>, run: OpenRun<'_>, tally: &mut AmountTally) {
        if self.function != AggregateFunction::Distinct {
            search.each_match(run, |row| {
                tally.add(row.value(self.value));
                false
            });
            return;
        }
        // `distinct` needs each value only once.
        if let Some(column) = self.value.column()
            && self.scope.selects_all_of_key()
            && let Some(place) = self.scope.place_of(column)
            && let Some(values) = run.all_values(search.stretch(), place)
        {
            return self.add_values(search, run, (place, values), tally);
        }
        search.each_match(run, |row| {
            let distinct = row.distinct(self.value);
            let n_bytes = distinct.as_ref().map_or(0, Distinct::text_bytes);
            !search.effort().spend_on_text(n_bytes) || !add_distinct(search, distinct, tally)
        });
    }

    /// Adds all values of a column of a run, each once. The rows cost the same as one by one.
    fn add_values(
        &self,
        search: &ScopeQuery<'_>,
        run: OpenRun<'_>,
        (place, values): (usize, &[OwnedValue]),
        tally: &mut AmountTally,
    ) {
        let (budget, n_rows) = (search.effort(), run.rows().len());
        budget.take(n_rows as u64);
        let n_bytes = |held: &OwnedValue| self.value.distinct_of(held).map_or(0, |one| one.text_bytes());
        if values.iter().any(|held| n_bytes(held) > ROW_TEXT_BYTES) {
            (0..n_rows).filter_map(|at| run.cell(at, place)).for_each(|held| {
                budget.spend_on_text(n_bytes(held));
            });
        }
        let _ = values.iter().try_for_each(|held| {
            let is_within = !budget.is_over() && add_distinct(search, self.value.distinct_of(held), tally);
            is_within.then_some(())
        });
    }
}

/// Adds a value if it is new, and returns whether the budget suffices.
fn add_distinct(search: &ScopeQuery<'_>, value: Option<Distinct<'_>>, tally: &mut AmountTally) -> bool {
    match value {
        Some(value) if !tally.has(&value) => {
            let is_within = search.effort().spend(DISTINCT_VALUE);
            if is_within {
                tally.add_new(value);
            }
            is_within
        }
        _ => true,
    }
}

/// Answers plain queries of one key with one lookup; a single query is a batch of one. Passes each answer to `tell`,
/// with the index of its query.
#[inline]
pub(super) fn answer_plain<'q>(
    first: &'q AggregateQuery,
    others: impl Iterator<Item = &'q AggregateQuery>,
    current: &Transaction,
    as_of: Sequence,
    mut tell: impl FnMut(usize, AggregateValue),
) {
    let Some(text) = first.scope().only_text(current).and_then(OnlyText::of) else { return };
    first.scope().series().look(&text, |entries| {
        for (n, one) in std::iter::once(first).chain(others).enumerate() {
            if let Some(answer) = one.of_entries(entries, &one.scope().stretch(current, as_of)) {
                tell(n, answer);
            }
        }
    });
}

/// Returns whether precomputed sums can answer the function.
const fn is_summed_up(function: AggregateFunction) -> bool {
    match function {
        AggregateFunction::Distinct => false,
        AggregateFunction::Count
        | AggregateFunction::Sum
        | AggregateFunction::Avg
        | AggregateFunction::Min
        | AggregateFunction::Max
        | AggregateFunction::Stddev => true,
    }
}

/// Tallies the amounts in memory and collects the chunks to be read back.
struct AmountVisitor<'s, T> {
    tally: T,
    stretch: &'s TimeRange,
    absent: SmallVec<[Extent; ABSENT_IN_PLACE]>,
}

impl<'s, T: AmountSink> AmountVisitor<'s, T> {
    #[inline]
    fn over(stretch: &'s TimeRange, tally: T) -> Self {
        Self { tally, stretch, absent: SmallVec::new() }
    }

    #[inline]
    fn of_entries(mut self, entries: &Entries<'_>) -> Option<AggregateValue> {
        entries.visit(self.stretch, &mut self)?;
        self.absent.is_empty().then(|| self.tally.finish())
    }

    #[inline(never)]
    fn take_in_absent(&mut self, search: &ScopeQuery<'_>) -> Result<(), SpillMiss<LookupError>> {
        for extent in std::mem::take(&mut self.absent) {
            let bytes = search.read(extent)?;
            OpenRun::of(&bytes, &[]).tally_amounts(self.stretch, &mut self.tally);
        }
        Ok(())
    }
}

impl<T: AmountSink> TimelineVisitor for AmountVisitor<'_, T> {
    #[inline]
    fn sum(&mut self, sum: EntrySum<'_>) -> bool {
        sum.add_to(&mut self.tally);
        true
    }

    #[inline]
    fn part(&mut self, part: EntryBlock<'_>) {
        match part {
            EntryBlock::Latest(run) => run.tally_amounts(self.stretch, &mut self.tally),
            EntryBlock::Chunk(ChunkBytes::Here(bytes)) => {
                OpenRun::of(bytes, &[]).tally_amounts(self.stretch, &mut self.tally);
            }
            EntryBlock::Chunk(ChunkBytes::Away(extent)) => self.absent.push(*extent),
        }
    }
}

/// Counts the entries in memory and collects the chunks to be read back; cheaper than tallying amounts.
struct CountVisitor<'s> {
    n_entries: u64,
    stretch: &'s TimeRange,
    absent: SmallVec<[Extent; ABSENT_IN_PLACE]>,
}

impl<'s> CountVisitor<'s> {
    #[inline]
    fn over(stretch: &'s TimeRange) -> Self {
        Self { n_entries: 0, stretch, absent: SmallVec::new() }
    }
}

impl TimelineVisitor for CountVisitor<'_> {
    #[inline]
    fn sum(&mut self, sum: EntrySum<'_>) -> bool {
        self.n_entries += sum.n_entries();
        true
    }

    #[inline]
    fn part(&mut self, part: EntryBlock<'_>) {
        match part {
            EntryBlock::Latest(run) => self.n_entries += run.n_shown(self.stretch),
            EntryBlock::Chunk(ChunkBytes::Here(bytes)) => {
                self.n_entries += OpenRun::of(bytes, &[]).n_shown(self.stretch);
            }
            EntryBlock::Chunk(ChunkBytes::Away(extent)) => self.absent.push(*extent),
        }
    }
}

/// Tallies the rows of the latest run of each key, or copies it, and collects all other chunks that may have visible rows.
struct LatestVisitor<'t, 's> {
    question: &'t AggregateQuery,
    search: &'t ScopeQuery<'s>,
    tally: AmountTally,
    latest: Vec<Run>,
    bodies: Vec<ChunkBytes>,
}

impl TimelineVisitor for LatestVisitor<'_, '_> {
    fn sum(&mut self, _sum: EntrySum<'_>) -> bool {
        false
    }

    fn part(&mut self, part: EntryBlock<'_>) {
        match part {
            EntryBlock::Latest(run) => match self.search.copy_of(run) {
                Some(copy) => self.latest.push(copy),
                None => self.question.add_rows(self.search, *run, &mut self.tally),
            },
            EntryBlock::Chunk(body) if self.search.effort().has_room_for(self.bodies.len()) => {
                self.bodies.push(body.clone());
            }
            EntryBlock::Chunk(_) => self.search.effort().give_up(),
        }
    }
}
