//! A module, and all it may ask about found and prepared.

use std::sync::Arc;

use tollgate_guest_abi::Needs;
use tollgate_history::{AggregateQuery, History, HistoryError, PreviousQuery};
use tollgate_model::calendar::{TimePart, UnknownZone};
use tollgate_model::pattern::{CompiledPattern, PatternError};

use crate::policy;
use crate::registry::{JointQuestion, JointSearch, ListMembership};
use crate::sandbox::AdmittedModule;

/// A module with everything behind its slots.
#[derive(Debug)]
pub struct BoundModule {
    /// What runs.
    pub module: AdmittedModule,
    /// Behind the pattern slots.
    pub patterns: Vec<CompiledPattern>,
    /// Patterns that are searched together.
    pub searches: Vec<JointSearch>,
    /// Behind the list slots.
    pub lists: Vec<Arc<ListMembership>>,
    /// The named lists among all that it asks, in filters too.
    pub named_lists: Box<[String]>,
    /// Behind the aggregate slots; equal questions of other modules are the same one.
    pub aggregates: Vec<Arc<AggregateQuery>>,
    /// Aggregates that are answered together.
    pub questions: Vec<JointQuestion>,
    /// Behind the previous-transaction slots.
    pub previous: Vec<Arc<PreviousQuery>>,
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

impl BoundModule {
    /// Finds everything the manifest names; the history builds what it needs to answer.
    ///
    /// # Errors
    /// The first need that cannot be met.
    pub fn bind(module: AdmittedModule, history: &History) -> Result<Self, BindError> {
        let (needs, semantics) = (&module.manifest.needs, module.manifest.semantics);
        let patterns = needs
            .patterns
            .iter()
            .map(|pattern| CompiledPattern::compile(pattern))
            .collect::<Result<_, _>>()?;
        let lists = needs.lists.iter().map(|list| Arc::new(ListMembership::bind(list, semantics))).collect();
        let aggregates = needs
            .aggregates
            .iter()
            .map(|spec| history.aggregate(spec, semantics))
            .collect::<Result<_, _>>()?;
        let previous =
            needs.previous.iter().map(|spec| history.previous(spec, semantics)).collect::<Result<_, _>>()?;
        let times = needs
            .times
            .iter()
            .map(|spec| TimePart::bind(spec, history.zones(), semantics))
            .collect::<Result<_, _>>()?;
        let (searches, questions) = (Vec::new(), Vec::new());
        let named_lists = policy::named_lists(needs).into_iter().map(str::to_owned).collect();
        Ok(Self { module, patterns, searches, lists, named_lists, aggregates, questions, previous, times })
    }

    /// Takes over what these have for the same needs; `None` when they lack something.
    #[must_use]
    pub fn of_parts(module: AdmittedModule, parts: &[&BoundModule]) -> Option<Self> {
        let Needs { patterns, lists, aggregates, previous, times, .. } = &module.manifest.needs;
        let patterns = found(patterns, parts, |part| (&part.module.manifest.needs.patterns, &part.patterns))?;
        let lists = found(lists, parts, |part| (&part.module.manifest.needs.lists, &part.lists))?;
        let aggregates =
            found(aggregates, parts, |part| (&part.module.manifest.needs.aggregates, &part.aggregates))?;
        let previous = found(previous, parts, |part| (&part.module.manifest.needs.previous, &part.previous))?;
        let times = found(times, parts, |part| (&part.module.manifest.needs.times, &part.times))?;
        let (searches, questions) = (Vec::new(), Vec::new());
        // Each of its rules is asked by its own module what it lacks.
        let named_lists = Box::default();
        Some(Self { module, patterns, searches, lists, named_lists, aggregates, questions, previous, times })
    }

    /// Compiles what makes it quicker, and changes no answer.
    pub(super) fn hasten(&self) {
        self.searches.iter().for_each(|search| search.compile(&self.module.manifest.needs.patterns));
    }
}

/// What stands behind each of these needs in the first part that has it.
fn found<'p, N: PartialEq + 'p, T: Clone + 'p>(
    needs: &[N],
    parts: &[&'p BoundModule],
    slots: impl Fn(&'p BoundModule) -> (&'p Vec<N>, &'p Vec<T>),
) -> Option<Vec<T>> {
    let all: Vec<(&N, &T)> = parts
        .iter()
        .flat_map(|part| {
            let (needs, behind) = slots(part);
            needs.iter().zip(behind)
        })
        .collect();
    let of_one = |need: &N| all.iter().find(|(known, _)| *known == need).map(|(_, behind)| (*behind).clone());
    needs.iter().map(of_one).collect()
}
