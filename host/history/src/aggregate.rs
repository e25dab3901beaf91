//! A question with a number for an answer.

use smallvec::SmallVec;
use tollgate_guest_abi::{AggregateFunction, AggregateSpec, Semantics};
use tollgate_model::calendar::ZoneData;
use tollgate_model::named_list::NamedLists;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{FieldAccess, Transaction};

use crate::exact::{AggregateValue, ExactValue};
use crate::filter::FilterError;
use crate::key::OnlyText;
use crate::key_table::Entries;
use crate::lookup_budget::{CostedAnswer, LookupBudget};
use crate::lookup_error::LookupError;
use crate::row::RowField;
use crate::scope::{Scope, ScopePlan, ScopeQuery, SelectionKind};
use crate::spill::{Extent, SpillMiss, until_read};
use crate::tally::{AmountSink, AmountTally, Total};
use crate::timeline::{ChunkBytes, EntryBlock, EntrySum, OpenRun, TimeRange, TimelineVisitor};

/// A window has two edges, and the latest entries may be away as well.
const ABSENT_IN_PLACE: usize = 3;

/// An [`AggregateSpec`] that the history answers at any time, from any thread.
#[derive(Debug)]
pub struct AggregateQuery {
    function: AggregateFunction,
    value: RowField,
    scope: Scope,
    figures_suffice: bool,
    /// Figures suffice, and all it needs of the transaction under evaluation is the key.
    is_plain: bool,
    /// Of the effort of a look at a row.
    shares_per_row: u64,
}

impl AggregateQuery {
    /// Where to look, and what for.
    pub(super) fn plan(
        spec: &AggregateSpec,
        semantics: Semantics,
        selecting: SelectionKind,
        zones: &ZoneData,
    ) -> Result<(ScopePlan, RowField), FilterError> {
        let value = FieldAccess::bind(&spec.value, semantics);
        let is_measured = is_summed_up(spec.function) && !value.is_amount();
        let measure = (is_measured && spec.function != AggregateFunction::Count).then_some(&spec.value);
        let mut plan = ScopePlan::bind(&spec.filter, semantics, spec.window, measure, selecting, zones)?;
        // Counting reads nothing.
        let value = match spec.function {
            AggregateFunction::Count => RowField::Amount,
            _ => plan.field(&value),
        };
        Ok((plan, value))
    }

    pub(super) fn new(function: AggregateFunction, value: RowField, scope: Scope) -> Self {
        let selects_all = scope.selects_all_of_key();
        let figures_suffice = is_summed_up(function) && matches!(value, RowField::Amount) && selects_all;
        let takes_each_value_once = function == AggregateFunction::Distinct && selects_all;
        let shares_per_row = if takes_each_value_once { 1 } else { scope.shares_per_row() };
        let is_plain = figures_suffice && scope.is_plain();
        Self { function, value, scope, figures_suffice, is_plain, shares_per_row }
    }

    /// The number, seen from `current`: over the transactions accepted before `as_of` whose event time is in the window
    /// that ends at the event time of `current`, both ends included. 0 when there is none, or when the filter names a
    /// value that `current` lacks; never NaN.
    ///
    /// # Errors
    /// When it takes a transaction that cannot be read back, or that was let go. There is no answer then, not even a guess.
    pub fn answer(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
    ) -> Result<f64, LookupError> {
        self.answer_within(current, as_of, lists, u64::MAX).map(|answered| answered.value.nearest)
    }

    /// The same, if it takes a look at so many transactions at most.
    ///
    /// # Errors
    /// Also when it would take more.
    pub fn answer_within(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
        rows_max: u64,
    ) -> Result<CostedAnswer<AggregateValue>, LookupError> {
        if let Some(value) = self.of_text(current, as_of) {
            return Ok(CostedAnswer { value, rows: 0 });
        }
        self.tally(current, as_of, lists, rows_max, AmountTally::finish)
    }

    /// The value itself, where [`AggregateQuery::answer_within`] gives doubles; at the same price, every time it is asked for.
    ///
    /// # Errors
    /// As there.
    pub fn exact_within(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
        rows_max: u64,
    ) -> Result<CostedAnswer<ExactValue>, LookupError> {
        self.tally(current, as_of, lists, rows_max, AmountTally::exact)
    }

    fn tally<T>(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
        rows_max: u64,
        finish: impl Fn(&AmountTally) -> T,
    ) -> Result<CostedAnswer<T>, LookupError> {
        let effort = LookupBudget::new(rows_max, self.shares_per_row);
        let answer = self.scope.search(current, as_of, lists, effort, |search| {
            let tally = match (self.figures_suffice, self.function) {
                (true, AggregateFunction::Count) => until_read(|| Self::count_of(search)),
                (true, _) => until_read(|| self.of_amounts(search)),
                (false, _) => until_read(|| self.of_rows(search)),
            };
            Ok(CostedAnswer { value: finish(&tally?), rows: search.effort().rows() })
        });
        answer
            .unwrap_or_else(|| Ok(CostedAnswer { value: finish(&AmountTally::new(self.function)), rows: 0 }))
    }

    /// The answer, where figures give it, what is sought is one text, and all of it is in memory: the way of most questions.
    #[inline]
    fn of_text(&self, current: &Transaction, as_of: Sequence) -> Option<AggregateValue> {
        if !self.is_plain {
            return None;
        }
        let text = self.scope.only_text(current).and_then(OnlyText::of)?;
        let mut answer = None;
        self.scope.series().look(&text, |entries| {
            answer = self.of_entries(entries, &self.scope.stretch(current, as_of));
        });
        answer
    }

    /// Whether it asks about the same entries as another, but for windows, and both are answered by figures alone.
    pub(super) fn shares_scope_with(&self, other: &Self) -> bool {
        self.is_plain && other.is_plain && self.scope.seeks_as(&other.scope)
    }

    /// Where it looks.
    pub(super) const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The answer, by the entries of the key that it seeks; `None` when there is more to it.
    #[inline]
    pub(super) fn of_entries(&self, entries: &Entries<'_>, stretch: &TimeRange) -> Option<AggregateValue> {
        match self.function {
            AggregateFunction::Count => {
                let mut counted = CountVisitor::over(stretch);
                entries.visit(stretch, &mut counted)?;
                counted.absent.is_empty().then(|| AggregateValue::of_count(counted.n_entries))
            }
            AggregateFunction::Sum => AmountVisitor::over(stretch, Total::default()).of_entries(entries),
            _ => AmountVisitor::over(stretch, AmountTally::new(self.function)).of_entries(entries),
        }
    }

    fn count_of(search: &ScopeQuery<'_>) -> Result<AmountTally, SpillMiss<LookupError>> {
        let mut counted = CountVisitor::over(search.stretch());
        search.visit(&mut counted)?;
        for extent in std::mem::take(&mut counted.absent) {
            counted.n_entries += OpenRun::of(&search.read(extent)?, &[]).n_shown(counted.stretch);
        }
        Ok(AmountTally::Count(counted.n_entries))
    }

    fn of_amounts(&self, search: &ScopeQuery<'_>) -> Result<AmountTally, SpillMiss<LookupError>> {
        let mut amounts = AmountVisitor::over(search.stretch(), AmountTally::new(self.function));
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
            tally: AmountTally::new(self.function),
            bodies: Vec::new(),
        };
        search.effort().begin();
        search.visit(&mut taken)?;
        let LatestVisitor { mut tally, bodies, .. } = taken;
        for body in bodies {
            if search.effort().is_over() {
                break;
            }
            let run = body.open(|extent| search.read(extent))?;
            self.add_rows(search, run.open(), &mut tally);
        }
        if search.effort().is_over() { Err(LookupError::TooManyRows.into()) } else { Ok(tally) }
    }

    fn add_rows(&self, search: &ScopeQuery<'_>, run: OpenRun<'_>, tally: &mut AmountTally) {
        // Each value once is all that `distinct` wants.
        if let (AggregateFunction::Distinct, Some(column)) = (self.function, self.value.column())
            && self.scope.selects_all_of_key()
            && let Some(place) = self.scope.place_of(column)
            && let Some(values) = run.all_values(search.stretch(), place)
        {
            search.effort().take(run.rows().len() as u64);
            return values.iter().for_each(|held| tally.add(self.value.value_of(held)));
        }
        search.each_match(run, |row| {
            tally.add(row.value(self.value));
            false
        });
    }
}

/// Whether what is known of entries without a look at them can answer it.
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

/// Takes in the amounts of everything that is shown and in memory, and takes the rest along.
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

/// Counts everything that is shown and in memory, and takes the rest along: less than to take in amounts.
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

/// Takes in the latest entries, and takes along all others that may be shown.
struct LatestVisitor<'t, 's> {
    question: &'t AggregateQuery,
    search: &'t ScopeQuery<'s>,
    tally: AmountTally,
    bodies: Vec<ChunkBytes>,
}

impl TimelineVisitor for LatestVisitor<'_, '_> {
    fn sum(&mut self, _sum: EntrySum<'_>) -> bool {
        false
    }

    fn part(&mut self, part: EntryBlock<'_>) {
        match part {
            EntryBlock::Latest(run) => self.question.add_rows(self.search, *run, &mut self.tally),
            EntryBlock::Chunk(body) if self.search.effort().has_room_for(self.bodies.len()) => {
                self.bodies.push(body.clone());
            }
            EntryBlock::Chunk(_) => self.search.effort().give_up(),
        }
    }
}
