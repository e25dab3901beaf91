//! The script river: compile, admit, install, swap.
//!
//! ```text
//!  script ─▶ draft: compile, emit, admit ─▶ bind: the history back-fills ─▶ store: one transaction ─▶ swap
//! ```
//!
//! One change at a time; each makes the next version of the rule set, which is durable before it is in force. Compiling
//! and binding leave the async world; transactions keep flowing by the old rule set until the new one is whole.

mod assembly;
mod change;
mod draft;
mod rule_files;
mod start;

use std::sync::Arc;

use tokio::sync::Mutex;
use tollgate_compiler::Diagnostic;

use crate::clock::Clock;
use crate::history::History;
use crate::instruction::{Instruction, InstructionId, InstructionSource};
use crate::registry::{RULES_MAX, Registry};
use crate::sandbox::Sandbox;
use crate::store::Store;
use crate::telemetry::metrics::Metrics;
pub use draft::{Draft, Identity};
pub use start::{RulesDirectory, StartError};

/// Brings scripts into force and takes them out, one change at a time. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Intake {
    river: Arc<River>,
}

/// What an [`Intake`] works with.
#[derive(Debug)]
pub struct Means {
    /// The clock of `created_at`.
    pub clock: Arc<dyn Clock>,
    /// What new rules ask about.
    pub history: Arc<History>,
    /// Where the rule set in force is.
    pub registry: Arc<Registry>,
    /// Where instructions are kept.
    pub store: Store,
    /// Who counts.
    pub metrics: Arc<Metrics>,
    /// Who admits modules.
    pub sandbox: Sandbox,
}

#[derive(Debug)]
struct River {
    means: Arc<Means>,
    /// Rule files and lists that are not in force as they lie there.
    n_refused: usize,
    /// Held through a change: the last instruction id given.
    last_id: Mutex<InstructionId>,
}

/// Why a change did not take effect. None of these changes anything.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// The script does not compile; at least one diagnostic is an error.
    #[error("the script does not compile")]
    Compile(Vec<Diagnostic>),
    /// An instruction in force has this name.
    #[error("an instruction named `{0}` exists already; remove it first or choose another name")]
    NameTaken(String),
    /// As many rules are in force as the service takes.
    #[error("no more than {RULES_MAX} rules can be in force at once")]
    TooMany,
    /// There is no such instruction.
    #[error("there is no instruction {0}")]
    NotFound(InstructionId),
    /// What the rule asks cannot be had: its module is over a limit, or the history answers no more questions.
    #[error("{0}")]
    OverLimit(String),
    /// The compiler made a module that the sandbox refused; a fault of ours.
    #[error("the compiled module was refused: {0}")]
    Refused(String),
    /// The change could not be stored.
    #[error("the change could not be stored; try again")]
    Unavailable,
}

impl Intake {
    /// Compiles a script and brings it into force; when this returns, transactions are judged by it.
    ///
    /// # Errors
    /// See [`IntakeError`].
    pub async fn save(&self, script: &str) -> Result<Arc<Instruction>, IntakeError> {
        let river = Arc::clone(&self.river);
        let script = script.to_owned();
        // On a task of its own: a change goes through whole even when its caller leaves.
        carry_through(async move { river.save(script).await }).await
    }

    /// Takes an instruction out of force. One that came from a file comes back at the next start if the file is there.
    ///
    /// # Errors
    /// [`IntakeError::NotFound`] and [`IntakeError::Unavailable`].
    pub async fn remove(&self, id: InstructionId) -> Result<(), IntakeError> {
        let river = Arc::clone(&self.river);
        carry_through(async move { river.remove(id).await }).await
    }

    /// How many rule files and lists are not in force as they lie there.
    #[must_use]
    pub fn n_refused_files(&self) -> usize {
        self.river.n_refused
    }

    /// The instructions in force, by id.
    #[must_use]
    pub fn instructions(&self) -> Vec<Arc<Instruction>> {
        let rule_set = self.river.means.registry.current();
        rule_set.rules.iter().map(|in_force| Arc::clone(&in_force.rule.instruction)).collect()
    }

    /// One of them.
    #[must_use]
    pub fn instruction(&self, id: InstructionId) -> Option<Arc<Instruction>> {
        self.instructions().into_iter().find(|instruction| instruction.record.id == id)
    }
}

async fn carry_through<T: Send + 'static>(
    change: impl Future<Output = Result<T, IntakeError>> + Send + 'static,
) -> Result<T, IntakeError> {
    tokio::spawn(change).await.unwrap_or(Err(IntakeError::Unavailable))
}

/// Runs what takes long off the executor.
async fn off_the_executor<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IntakeError> + Send + 'static,
) -> Result<T, IntakeError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(IntakeError::Unavailable))
}

impl River {
    async fn save(self: Arc<Self>, script: String) -> Result<Arc<Instruction>, IntakeError> {
        // Compiling is under the lock too: one script at a time, whoever sends how many.
        let mut last_id = self.last_id.lock().await;
        let current = self.means.registry.current();
        let river = Arc::clone(&self);
        let draft = off_the_executor(move || {
            let current = river.means.registry.current();
            Draft::compile(&river.means.sandbox, &current.lists, script)
        })
        .await?;
        if current.rules.iter().any(|in_force| in_force.rule.instruction.entry.name == draft.name()) {
            return Err(IntakeError::NameTaken(draft.name().to_owned()));
        }
        if current.rules.len() >= RULES_MAX {
            return Err(IntakeError::TooMany);
        }
        let id = InstructionId(last_id.0 + 1);
        let identity = Identity::new(id, InstructionSource::Api, self.means.clock.now());
        let river = Arc::clone(&self);
        let rule = off_the_executor(move || draft.bind(&river.means.history, identity).map(Arc::new)).await?;
        let instruction = Arc::clone(&rule.instruction);
        let mut rules = change::rules_of(&current);
        rules.push(rule);
        change::bring_into_force(&self.means, &current, rules, current.lists.clone()).await?;
        *last_id = id;
        tracing::info!(instruction.id = id.0, rule.name = instruction.entry.name, "instruction saved");
        Ok(instruction)
    }

    async fn remove(self: Arc<Self>, id: InstructionId) -> Result<(), IntakeError> {
        let _one_at_a_time = self.last_id.lock().await;
        let current = self.means.registry.current();
        let mut rules = change::rules_of(&current);
        let n_before = rules.len();
        rules.retain(|rule| rule.instruction.record.id != id);
        if rules.len() == n_before {
            return Err(IntakeError::NotFound(id));
        }
        change::bring_into_force(&self.means, &current, rules, current.lists.clone()).await?;
        tracing::info!(instruction.id = id.0, "instruction removed");
        Ok(())
    }
}
