//! A module with its needs resolved and prepared.

use std::sync::Arc;

use tollgate_guest_abi::Needs;
use tollgate_history::{AggregateQuery, History, HistoryError, PreviousQuery};
use tollgate_model::calendar::{TimePart, UnknownZone};
use tollgate_model::pattern::{CompiledPattern, PatternError};
use tollgate_model::transaction::StatusWords;

use crate::policy;
use crate::registry::{JointQuestion, JointSearch, ListMembership};
use crate::sandbox::AdmittedModule;

/// A module and the contents of its slots.
#[derive(Debug)]
pub struct BoundModule {
    /// The module.
    pub module: AdmittedModule,
    /// Table of the stages that statuses mean.
    pub status_words: Arc<StatusWords>,
    /// Patterns by slot.
    pub patterns: Vec<CompiledPattern>,
    /// Patterns that are searched together.
    pub searches: Vec<JointSearch>,
    /// Lists by slot.
    pub lists: Vec<Arc<ListMembership>>,
    /// Names of all named lists it uses, including those in filters.
    pub named_lists: Box<[String]>,
    /// Aggregates by slot; equal queries of several modules are shared.
    pub aggregates: Vec<Arc<AggregateQuery>>,
    /// Aggregates that are answered together.
    pub questions: Vec<JointQuestion>,
    /// Previous-transaction lookups by slot.
    pub previous: Vec<Arc<PreviousQuery>>,
    /// Time parts by slot.
    pub times: Vec<TimePart>,
}

/// The reason a module cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The pattern engine rejects a pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The history rejects a query.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The time zone does not exist.
    #[error(transparent)]
    Zone(#[from] UnknownZone),
}

impl BoundModule {
    /// Resolves the needs of the manifest; the history starts to maintain what it needs to answer.
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
        let status_words = Arc::clone(history.status_words());
        let list = |list| Arc::new(ListMembership::bind(list, semantics, &status_words));
        let lists = needs.lists.iter().map(list).collect();
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
        Ok(Self {
            module,
            status_words,
            patterns,
            searches,
            lists,
            named_lists,
            aggregates,
            questions,
            previous,
            times,
        })
    }

    /// Builds a module from the resolved needs of `parts`; `None` if a need is missing in all of them.
    #[must_use]
    pub fn of_parts(module: AdmittedModule, parts: &[&BoundModule]) -> Option<Self> {
        let status_words = Arc::clone(&parts.first()?.status_words);
        let Needs { patterns, lists, aggregates, previous, times, .. } = &module.manifest.needs;
        let patterns = found(patterns, parts, |part| (&part.module.manifest.needs.patterns, &part.patterns))?;
        let lists = found(lists, parts, |part| (&part.module.manifest.needs.lists, &part.lists))?;
        let aggregates =
            found(aggregates, parts, |part| (&part.module.manifest.needs.aggregates, &part.aggregates))?;
        let previous = found(previous, parts, |part| (&part.module.manifest.needs.previous, &part.previous))?;
        let times = found(times, parts, |part| (&part.module.manifest.needs.times, &part.times))?;
        let (searches, questions) = (Vec::new(), Vec::new());
        // Missing lists are determined by the modules of its rules.
        let named_lists = Box::default();
        Some(Self {
            module,
            status_words,
            patterns,
            searches,
            lists,
            named_lists,
            aggregates,
            questions,
            previous,
            times,
        })
    }

    /// Compiles the joint searches. This speeds up evaluation and changes no answer.
    pub(super) fn compile_searches(&self) {
        self.searches.iter().for_each(|search| search.compile(&self.module.manifest.needs.patterns));
    }
}

/// Returns the resolved value of each need, from the first part that has it.
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
