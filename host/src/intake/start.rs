//! The first rule set of a run: what was saved over the API, and what lies in the rules directory.
//!
//! What cannot be read is never taken for removed: a rule that is gone by mistake would let through what it stopped.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::instruction::{InstructionId, InstructionRecord, InstructionSource};
use crate::intake::assembly::Assembly;
use crate::intake::rule_files::{self, RuleFiles};
use crate::intake::{Intake, IntakeError, Means, River, change};
use crate::registry::{Lists, Rule, RuleInForce, RuleSet};
use crate::store::{ListRecord, RuleSetIdentity, StoreError};

/// Where rule files lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesDirectory {
    /// Its path.
    pub path: PathBuf,
    /// Whether the service may do without it.
    pub may_be_missing: bool,
}

/// Why the rules of a run cannot be brought together.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The change could not be made.
    #[error(transparent)]
    Intake(#[from] IntakeError),
    /// The rules directory cannot be read.
    #[error("the rules directory `{}` cannot be read; set WATCH_SCRIPT_DIR to one that can", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A stored instruction can neither be compiled nor taken as it was compiled before.
    #[error("the stored instruction `{name}` cannot be brought into force: {reason}")]
    Instruction {
        /// Which.
        name: String,
        /// Why.
        reason: String,
    },
}

/// What the store holds of earlier runs.
struct Stored {
    instructions: Vec<InstructionRecord>,
    lists: Vec<ListRecord>,
    last_id: i64,
    last_set: Option<RuleSetIdentity>,
}

/// What a run begins with.
struct Beginning {
    rules: Vec<Arc<Rule>>,
    lists: Lists,
    last_id: i64,
    n_refused: usize,
}

impl Intake {
    /// Brings every stored instruction and every rule file into force. A file that does not compile keeps its last
    /// good version, if it had one, and is reported; it does not stop the others.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(means: Means, rules: &RulesDirectory) -> Result<Self, StartError> {
        let stored = Stored {
            instructions: means.store.instructions().await?,
            lists: means.store.lists().await?,
            last_id: means.store.last_instruction_id().await?,
            last_set: means.store.last_rule_set().await?,
        };
        let (directory, means) = (rules.clone(), Arc::new(means));
        let assembling = Arc::clone(&means);
        let assembled = tokio::task::spawn_blocking(move || {
            let beginning = begin(&assembling, &directory, &stored)?;
            Ok::<_, StartError>((beginning, stored))
        });
        let (beginning, stored) = assembled.await.map_err(|_| IntakeError::Unavailable)??;
        let last_id = Mutex::new(InstructionId(beginning.last_id));
        let n_refused = beginning.n_refused;
        put_first_set_in_force(&means, beginning, &stored).await?;
        means.metrics.rule_files_refused(n_refused);
        Ok(Self { river: Arc::new(River { means, last_id, n_refused }) })
    }
}

fn begin(means: &Means, directory: &RulesDirectory, stored: &Stored) -> Result<Beginning, StartError> {
    let files = read_files(directory, stored)?;
    let lists = files.lists(&stored.lists);
    let mut assembly = Assembly::new(means, &lists, stored.last_id);
    assembly.add_saved(&stored.instructions)?;
    assembly.add_files(&files.scripts, &stored.instructions)?;
    let n_refused = assembly.n_refused + files.unreadable_lists.len();
    let Assembly { rules, last_id, .. } = assembly;
    Ok(Beginning { rules, lists, last_id, n_refused })
}

fn read_files(directory: &RulesDirectory, stored: &Stored) -> Result<RuleFiles, StartError> {
    let from_file = |record: &InstructionRecord| matches!(record.source, InstructionSource::File { .. });
    let path = directory.path.as_path();
    match rule_files::read(path) {
        Ok(files) => Ok(files),
        Err(error) if is_dispensable(&error, directory) && !stored.instructions.iter().any(from_file) => {
            tracing::warn!(directory = %path.display(), "there is no rules directory; rules come over the API alone");
            Ok(RuleFiles::default())
        }
        Err(source) => Err(StartError::Directory { path: path.to_owned(), source }),
    }
}

fn is_dispensable(error: &io::Error, directory: &RulesDirectory) -> bool {
    error.kind() == io::ErrorKind::NotFound && directory.may_be_missing && !directory.path.exists()
}

/// The same rules and lists as in the last run are the same version.
async fn put_first_set_in_force(
    means: &Means,
    beginning: Beginning,
    stored: &Stored,
) -> Result<(), IntakeError> {
    let last_version = stored.last_set.as_ref().map_or(0, |set| set.version);
    let candidate = RuleSet::new(last_version, beginning.rules, beginning.lists);
    let records = candidate.rules.iter().map(|in_force| &in_force.rule.instruction.record);
    let is_same =
        stored.last_set.as_ref() == Some(&identity_of(&candidate)) && records.eq(&stored.instructions);
    if is_same {
        change::swap(means, candidate);
    } else {
        change::bring_into_force(means, &candidate, change::rules_of(&candidate), candidate.lists.clone())
            .await?;
    }
    let in_force = means.registry.current();
    tracing::info!(version = in_force.version, rules = in_force.rules.len(), "rule set in force");
    Ok(())
}

fn identity_of(rule_set: &RuleSet) -> RuleSetIdentity {
    let member = |in_force: &RuleInForce| {
        let instruction = &in_force.rule.instruction;
        (instruction.record.id, instruction.digest)
    };
    RuleSetIdentity {
        version: rule_set.version,
        members: rule_set.rules.iter().map(member).collect(),
        lists: rule_set.lists.texts().map(|(name, _, digest)| (name.to_owned(), digest)).collect(),
    }
}
