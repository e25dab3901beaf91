//! A question with yes or no for an answer.

use tollgate_guest_abi::{Comparison, Condition, Item, MatchPair, Operand, PreviousSpec};

use crate::history::filter::FilterError;
use crate::history::scope::{Plan, Scope};
use crate::history::spill::SpillError;
use crate::history::summary::Summary;
use crate::history::timeline::{Body, Chunk, Look};
use crate::named_list::NamedLists;
use crate::sequence::Sequence;
use crate::transaction::Transaction;

/// A [`PreviousSpec`] that the history answers at any time, from any thread.
#[derive(Debug)]
pub struct Previous {
    scope: Scope,
}

impl Previous {
    pub(super) fn plan(spec: &PreviousSpec) -> Result<Plan, FilterError> {
        Plan::bind(&Condition::All(spec.pairs.iter().map(equality).collect()), spec.window)
    }

    pub(super) const fn new(scope: Scope) -> Self {
        Self { scope }
    }

    /// Whether a transaction accepted before `as_of`, with an event time in the window that ends at the one of
    /// `current`, both ends included, satisfies every pair. No when `current` lacks a value that a pair names.
    ///
    /// # Errors
    /// When it takes a transaction that cannot be read back.
    pub fn answer(
        &self,
        current: &Transaction,
        as_of: Sequence,
        lists: &dyn NamedLists,
    ) -> Result<bool, SpillError> {
        let Some(search) = self.scope.search(current, as_of, lists) else { return Ok(false) };
        let mut taken =
            Taken { a_run_suffices: self.scope.selects_all_of_key(), found: false, bodies: Vec::new() };
        search.visit(&mut taken)?;
        let mut found = taken.found;
        // The latest first: what happened again mostly did so lately.
        for body in taken.bodies.iter().rev() {
            if found {
                break;
            }
            search.each_match(&body.open()?, |_| {
                found = true;
                true
            });
        }
        Ok(found)
    }
}

/// Takes along everything that may be shown, until there is certainty.
struct Taken {
    a_run_suffices: bool,
    found: bool,
    bodies: Vec<Body>,
}

impl Look for Taken {
    fn run(&mut self, _summary: &Summary) -> bool {
        self.found |= self.a_run_suffices;
        self.found
    }

    fn chunk(&mut self, chunk: &Chunk) {
        if !self.found {
            self.bodies.push(chunk.body().clone());
        }
    }
}

fn equality(pair: &MatchPair) -> Condition {
    let right = match &pair.value {
        Item::Number(number) => Operand::Number(*number),
        Item::Text(text) => Operand::Text(text.clone()),
        Item::Boolean(boolean) => Operand::Boolean(*boolean),
        Item::Current(path) => Operand::Current(path.clone()),
    };
    Condition::Compare { left: Operand::Field(pair.field.clone()), operator: Comparison::Equal, right }
}
