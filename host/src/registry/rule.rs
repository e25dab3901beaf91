//! One instruction, ready to run: its module, and all its module may ask about found and prepared.

use std::sync::Arc;

use crate::calendar::{TimePart, UnknownZone};
use crate::history::{Aggregate, History, HistoryError, Previous};
use crate::instruction::Instruction;
use crate::pattern::{Pattern, PatternError};
use crate::registry::Membership;
use crate::sandbox::AdmittedModule;

/// An instruction with everything behind its slots. Shared by every rule set it is in.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What it is.
    pub instruction: Arc<Instruction>,
    /// What runs.
    pub module: Arc<AdmittedModule>,
    /// Behind the pattern slots.
    pub patterns: Arc<[Pattern]>,
    /// Behind the list slots.
    pub lists: Arc<[Membership]>,
    /// Behind the aggregate slots; equal questions of other rules are the same one.
    pub aggregates: Vec<Arc<Aggregate>>,
    /// Behind the previous-transaction slots.
    pub previous: Vec<Arc<Previous>>,
    /// Behind the time slots.
    pub times: Vec<TimePart>,
}

/// Why something a module needs cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// A pattern the engine does not take.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A question the history does not take.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// No such time zone.
    #[error(transparent)]
    Zone(#[from] UnknownZone),
}

impl Rule {
    /// Finds everything the manifest names; the history builds what it needs to answer.
    ///
    /// # Errors
    /// The first need that cannot be met.
    pub fn bind(
        instruction: Arc<Instruction>,
        module: AdmittedModule,
        history: &History,
    ) -> Result<Self, BindError> {
        let needs = &module.manifest.needs;
        let patterns =
            needs.patterns.iter().map(|pattern| Pattern::compile(pattern)).collect::<Result<_, _>>()?;
        let lists = needs.lists.iter().map(Membership::bind).collect();
        let aggregates =
            needs.aggregates.iter().map(|spec| history.aggregate(spec)).collect::<Result<_, _>>()?;
        let previous = needs.previous.iter().map(|spec| history.previous(spec)).collect::<Result<_, _>>()?;
        let times = needs.times.iter().map(TimePart::bind).collect::<Result<_, _>>()?;
        let module = Arc::new(module);
        Ok(Self { instruction, module, patterns, lists, aggregates, previous, times })
    }
}
