//! One instruction, ready to run.

use std::sync::Arc;

use tollgate_compiler::{CheckedRule, Position, position};
use tollgate_history::History;
use tollgate_model::instruction::Instruction;

use crate::registry::{BindError, BoundModule, Mismatch, Mismatches};
use crate::sandbox::AdmittedModule;

/// Longest text of a test that is shown, in characters.
const TEST_CHARS_MAX: usize = 120;

/// A test that got what it cannot compare, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedMismatch {
    /// Where the test stands in the script.
    pub place: Position,
    /// The test as it is written, on one line and not longer than 120 characters.
    pub test: String,
    /// What it got.
    pub mismatch: Mismatch,
    /// How often, up to [`COUNT_MAX`](crate::registry::COUNT_MAX).
    pub count: u64,
}

/// An instruction with everything behind its slots. Shared by every rule set it is in.
#[derive(Debug, Clone)]
pub struct BoundRule {
    /// What it is.
    pub instruction: Arc<Instruction>,
    /// What runs.
    pub bound: Arc<BoundModule>,
    /// What its module was made of, which can be fused with others; `None` of what cannot be.
    pub checked: Option<Arc<CheckedRule>>,
    /// Its tests that got what they cannot compare.
    pub mismatches: Arc<Mismatches>,
}

impl BoundRule {
    /// Finds everything the manifest names; the history builds what it needs to answer.
    ///
    /// # Errors
    /// The first need that cannot be met.
    pub fn bind(
        instruction: Arc<Instruction>,
        module: AdmittedModule,
        history: &History,
    ) -> Result<Self, BindError> {
        let bound = Arc::new(BoundModule::bind(module, history)?);
        Ok(Self { instruction, bound, checked: None, mismatches: Arc::default() })
    }

    /// The same, made of this: its module, to the last byte, is what the compiler makes of it.
    #[must_use]
    pub fn made_of(self, checked: Option<Arc<CheckedRule>>) -> Self {
        Self { checked, ..self }
    }

    /// Its tests that got what they cannot compare, with where they stand in the script.
    #[must_use]
    pub fn counted_mismatches(&self) -> Vec<CountedMismatch> {
        let script = self.instruction.record.script.as_deref().unwrap_or_default();
        let tests = self.checked.as_ref().map_or(&[][..], |checked| &checked.tests);
        let counted = self.mismatches.counted().into_iter();
        let placed = counted.filter_map(|(mismatch, count)| {
            let span = tests.get(mismatch.test)?.clone();
            let place = position(script, span.start);
            let words = script.get(span)?.split_whitespace().collect::<Vec<_>>().join(" ");
            Some(CountedMismatch { place, test: shortened(words), mismatch, count })
        });
        placed.collect()
    }

    /// Whether it is not run.
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        self.instruction.record.quarantine.is_some()
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(TEST_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
