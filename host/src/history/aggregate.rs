//! A question with a number for an answer.

use tollgate_guest_abi::{AggregateFunction, AggregateSpec};

use crate::history::filter::FilterError;
use crate::history::row::RowField;
use crate::history::scope::{Plan, Scope, Search};
use crate::history::spill::SpillError;
use crate::history::summary::Summary;
use crate::history::tally::Tally;
use crate::history::timeline::{Body, Chunk, Look, OpenBody, Stretch};
use crate::named_list::NamedLists;
use crate::sequence::Sequence;
use crate::transaction::{FieldAccess, Transaction};

/// An [`AggregateSpec`] that the history answers at any time, from any thread.
#[derive(Debug)]
pub struct Aggregate {
    function: AggregateFunction,
    value: RowField,
    scope: Scope,
    summaries_suffice: bool,
}

impl Aggregate {
    /// Where to look, and what for.
    pub(super) fn plan(spec: &AggregateSpec) -> Result<(Plan, RowField), FilterError> {
        let mut plan = Plan::bind(&spec.filter, spec.window)?;
        // Counting reads nothing.
        let value = match spec.function {
            AggregateFunction::Count => RowField::Amount,
            _ => plan.field(&FieldAccess::bind(&spec.value)),
        };
        Ok((plan, value))
    }

    pub(super) const fn new(function: AggregateFunction, value: RowField, scope: Scope) -> Self {
        let is_summed_up = match function {
            AggregateFunction::Count => true,
            AggregateFunction::Distinct => false,
            AggregateFunction::Sum
            | AggregateFunction::Avg
            | AggregateFunction::Min
            | AggregateFunction::Max
            | AggregateFunction::Stddev => matches!(value, RowField::Amount),
        };
        let summaries_suffice = is_summed_up && scope.selects_all_of_key();
        Self { function, value, scope, summaries_suffice }
    }

    /// The number, seen from `current`: over the transactions accepted before `as_of` whose event time is in the window
    /// that ends at the event time of `current`, both ends included. 0 when there is none, or when the filter names a
    /// value that `current` lacks; never NaN.
    ///
    /// # Errors
    /// When it takes a transaction that cannot be read back. There is no answer then, not even a guess.
    pub fn answer(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
    ) -> Result<f64, SpillError> {
        let Some(search) = self.scope.search(current, as_of, lists) else { return Ok(0.0) };
        if self.summaries_suffice { self.of_amounts(&search) } else { self.of_rows(&search) }
    }

    fn of_amounts(&self, search: &Search<'_>) -> Result<f64, SpillError> {
        let mut amounts =
            Amounts { tally: Tally::new(self.function), stretch: search.stretch(), absent: Vec::new() };
        search.visit(&mut amounts)?;
        let Amounts { mut tally, stretch, absent } = amounts;
        for body in absent {
            body.open()?.tally_amounts(stretch, &mut tally);
        }
        Ok(tally.finish())
    }

    fn of_rows(&self, search: &Search<'_>) -> Result<f64, SpillError> {
        let mut taken = Taken::default();
        search.visit(&mut taken)?;
        if self.function == AggregateFunction::Distinct {
            // The values are told apart where they are, so all must be there.
            let bodies: Vec<OpenBody> = taken.bodies.iter().map(Body::open).collect::<Result<_, _>>()?;
            let mut tally = Tally::new(self.function);
            for body in &bodies {
                search.each_match(body, |row| {
                    tally.add(row.value(self.value));
                    false
                });
            }
            return Ok(tally.finish());
        }
        let mut tally = Tally::new(self.function);
        for body in taken.bodies {
            search.each_match(&body.open()?, |row| {
                tally.add_plain(row.value(self.value));
                false
            });
        }
        Ok(tally.finish())
    }
}

/// Takes in the amounts of everything that is shown and in memory, and takes the rest along.
struct Amounts<'t> {
    tally: Tally<'t>,
    stretch: Stretch,
    absent: Vec<Body>,
}

impl Look for Amounts<'_> {
    fn run(&mut self, summary: &Summary) -> bool {
        self.tally.add_amounts(summary);
        true
    }

    fn chunk(&mut self, chunk: &Chunk) {
        match chunk.open_resident() {
            Some(body) => body.tally_amounts(self.stretch, &mut self.tally),
            None => self.absent.push(chunk.body().clone()),
        }
    }
}

/// Takes along everything that may be shown.
#[derive(Default)]
struct Taken {
    bodies: Vec<Body>,
}

impl Look for Taken {
    fn run(&mut self, _summary: &Summary) -> bool {
        false
    }

    fn chunk(&mut self, chunk: &Chunk) {
        self.bodies.push(chunk.body().clone());
    }
}
