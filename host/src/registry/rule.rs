//! One instruction, ready to run.

use std::sync::Arc;

use tollgate_compiler::CheckedRule;

use crate::history::History;
use crate::instruction::Instruction;
use crate::registry::{BindError, Bound};
use crate::sandbox::AdmittedModule;

/// An instruction with everything behind its slots. Shared by every rule set it is in.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What it is.
    pub instruction: Arc<Instruction>,
    /// What runs.
    pub bound: Arc<Bound>,
    /// What its module was made of, which can be fused with others; `None` of what cannot be.
    pub checked: Option<Arc<CheckedRule>>,
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
        let bound = Arc::new(Bound::bind(module, history)?);
        Ok(Self { instruction, bound, checked: None })
    }

    /// The same, made of this: its module, to the last byte, is what the compiler makes of it.
    #[must_use]
    pub fn made_of(self, checked: Option<Arc<CheckedRule>>) -> Self {
        Self { checked, ..self }
    }

    /// Whether it is not run.
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        self.instruction.record.quarantine.is_some()
    }
}
