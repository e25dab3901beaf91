//! A query whose answer is yes or no.

use tollgate_guest_abi::{Comparison, Condition, Item, MatchPair, Operand, PreviousSpec, Semantics};
use tollgate_model::named_list::NamedLists;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::filter::FilterError;
use crate::layout::ReadingData;
use crate::lookup_budget::{CostedAnswer, LookupBudget, LookupDeadline, LookupLimits, RowPrices};
use crate::lookup_error::LookupError;
use crate::scope::{Scope, ScopePlan, ScopeQuery, SelectionKind};
use crate::series::SeriesUse;
use crate::spill::{SpillMiss, until_read};
use crate::timeline::{ChunkBytes, EntryBlock, EntrySum, OpenRun, Run, TimelineVisitor};

/// A [`PreviousSpec`] bound to a series, to be answered at any time, from any thread.
#[derive(Debug)]
pub struct PreviousQuery {
    scope: Scope,
}

impl PreviousQuery {
    pub(super) fn plan(
        spec: &PreviousSpec,
        semantics: Semantics,
        data: ReadingData<'_>,
    ) -> Result<ScopePlan, FilterError> {
        ScopePlan::bind(
            &Condition::All(spec.pairs.iter().map(equality).collect()),
            semantics,
            spec.window,
            None,
            SelectionKind::RowByRow,
            data,
        )
    }

    pub(super) const fn new(scope: Scope) -> Self {
        Self { scope }
    }

    /// Returns the series that the query needs.
    #[must_use]
    pub fn series_use(&self) -> SeriesUse {
        self.scope.series_use()
    }

    pub(super) const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns whether some transaction accepted before `as_of` satisfies every pair. Its event time must lie in the
    /// window that ends at the event time of `current`, both ends included. Returns false when `current` lacks a value
    /// that a pair names.
    ///
    /// # Errors
    /// When a transaction in the window was discarded or cannot be read back.
    pub fn answer(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
    ) -> Result<bool, LookupError> {
        let deadline = LookupDeadline::never();
        let limits = LookupLimits::none(&deadline);
        self.answer_within(current, as_of, lists, limits).map(|answered| answered.value)
    }

    /// Same as [`PreviousQuery::answer`], but within limits.
    ///
    /// # Errors
    /// Also when it would cost more, or the time has passed.
    pub fn answer_within(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
        limits: LookupLimits<'_>,
    ) -> Result<CostedAnswer<bool>, LookupError> {
        // Where precomputed sums suffice, only the few rows at the edges of the window are read, so they cost nothing.
        let prices = if self.scope.selects_all_of_key() {
            RowPrices { before_v4: 0, since_v4: 0 }
        } else {
            self.scope.row_prices()
        };
        let effort = LookupBudget::new(limits, prices);
        let answer = self.scope.search(current, as_of, lists, effort, |search| {
            if search.effort().is_over() {
                return Err(LookupError::TooManyRows);
            }
            let value = until_read(|| self.ask(search))?;
            Ok(CostedAnswer { value, fuel: search.effort().fuel() })
        });
        answer.unwrap_or(Ok(CostedAnswer { value: false, fuel: 0 }))
    }

    fn ask(&self, search: &ScopeQuery<'_>) -> Result<bool, SpillMiss<LookupError>> {
        let a_sum_suffices = self.scope.selects_all_of_key();
        let mut taken =
            PreviousVisitor { search, a_sum_suffices, found: false, latest: Vec::new(), bodies: Vec::new() };
        if a_sum_suffices {
            search.effort().begin();
        } else {
            search.effort().begin_rows();
        }
        search.visit(&mut taken)?;
        let mut found = taken.found || taken.latest.iter().any(|latest| taken.is_found_in(latest.open()));
        // Latest first: a repetition is usually recent.
        for body in taken.bodies.iter().rev() {
            if found || search.effort().is_over() {
                break;
            }
            let run = search.open(body)?;
            found = taken.is_found_in(run.open());
        }
        if search.effort().is_over() { Err(LookupError::TooManyRows.into()) } else { Ok(found) }
    }
}

/// Collects the chunks that may have visible rows, and a copy of the latest run of each key, until a match is found.
struct PreviousVisitor<'t, 's> {
    search: &'t ScopeQuery<'s>,
    a_sum_suffices: bool,
    found: bool,
    latest: Vec<Run>,
    bodies: Vec<ChunkBytes>,
}

impl PreviousVisitor<'_, '_> {
    fn is_found_in(&self, run: OpenRun<'_>) -> bool {
        let mut found = false;
        self.search.each_match(run, |_| {
            found = true;
            true
        });
        found
    }
}

impl TimelineVisitor for PreviousVisitor<'_, '_> {
    fn sum(&mut self, _sum: EntrySum<'_>) -> bool {
        self.found |= self.a_sum_suffices;
        self.found
    }

    fn part(&mut self, part: EntryBlock<'_>) {
        match part {
            _ if self.found => {}
            EntryBlock::Latest(run) => match self.search.copy_of(run) {
                Some(copy) => self.latest.push(copy),
                None => self.found = self.is_found_in(*run),
            },
            EntryBlock::Chunk(body) if self.search.effort().has_room_for(self.bodies.len()) => {
                self.bodies.push(body.clone());
            }
            EntryBlock::Chunk(_) => self.search.effort().give_up(),
        }
    }
}

fn equality(pair: &MatchPair) -> Condition {
    let right = match &pair.value {
        Item::Number(number) => Operand::Number(number.clone()),
        Item::Text(text) => Operand::Text(text.clone()),
        Item::Boolean(boolean) => Operand::Boolean(*boolean),
        Item::Current(path) => Operand::Current(path.clone()),
    };
    Condition::Compare { left: Operand::Field(pair.field.clone()), operator: Comparison::Equal, right }
}
