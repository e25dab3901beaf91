//! The first rule set of a run: what was in force when the last one ended, and what lies in the rules directory now.
//!
//! What cannot be read is never taken for removed: a rule that is gone by mistake would let through what it stopped.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::instruction::{InstructionId, InstructionRecord, InstructionSource};
use crate::intake::change::{self, Contents};
use crate::intake::tree::{Known, Next, Origin, Pace, Standing, assemble};
use crate::intake::{Intake, IntakeError, Means, River, RuleTree, SetAside, off_the_executor, rule_files};
use crate::registry::{ListInForce, Lists, RuleInForce, RuleSet, SERVICE_VERSION};
use crate::store::{ListRecord, RuleSetIdentity, StoreError};

/// Where rule files lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesDirectory {
    /// Its path.
    pub path: PathBuf,
    /// Whether the service may do without it.
    pub may_be_missing: bool,
    /// Whether the system is asked for notices of changes; without them they are looked for.
    pub asks_for_notices: bool,
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
}

/// What the store holds of earlier runs.
struct Stored {
    instructions: Vec<InstructionRecord>,
    lists: Vec<ListRecord>,
    last_id: i64,
    last_set: Option<RuleSetIdentity>,
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
        let directory = rules.clone();
        let river = Arc::new(River::new(means));
        let assembling = Arc::clone(&river);
        let assembled = tokio::task::spawn_blocking(move || {
            let tree = read_tree(&directory, &stored)?;
            let standing = standing_of(&stored);
            let next =
                assemble(&assembling.means, &assembling.activating, standing, &tree, &SetAside::default())?;
            Ok::<_, StartError>((next, stored))
        });
        let (next, stored) = assembled.await.map_err(|_| IntakeError::Unavailable)??;
        let Next { rules, lists, commit, last_id, failures, shown, .. } = next;
        put_first_set_in_force(&river.means, Contents { rules, lists, commit, bodies: Vec::new() }, &stored)
            .await?;
        drop(shown);
        let in_force = river.means.registry.current();
        let digests: Vec<_> = in_force.rules.iter().map(|rule| rule.rule.instruction.digest).collect();
        river.means.artifacts.retain(&digests);
        river.state.lock().await.last_id = last_id;
        river.remember(&Origin::Directory, &failures);
        Ok(Self { river })
    }
}

fn standing_of(stored: &Stored) -> Standing {
    let mut lists = Lists::default();
    for record in &stored.lists {
        lists.insert(&record.name, ListInForce::new(&record.entries, record.source.clone()));
    }
    Standing {
        rules: stored.instructions.iter().cloned().map(Arc::new).map(Known::Stored).collect(),
        lists,
        last_id: InstructionId(stored.last_id),
        commit: stored.last_set.as_ref().and_then(|set| set.commit.clone()),
        pace: Pace::AllCores,
    }
}

fn read_tree(directory: &RulesDirectory, stored: &Stored) -> Result<RuleTree, StartError> {
    let from_file = |source: &InstructionSource| matches!(source, InstructionSource::File { .. });
    let has_files = stored.instructions.iter().any(|record| from_file(&record.source))
        || stored.lists.iter().any(|record| from_file(&record.source));
    let path = directory.path.as_path();
    match rule_files::find(path) {
        Ok(files) => Ok(rule_files::read(&files, |_| None)),
        Err(error) if is_dispensable(&error, directory) && !has_files => {
            tracing::warn!(directory = %path.display(), "there is no rules directory; rules come from elsewhere alone");
            Ok(RuleTree { origin: Origin::Directory, rules: Vec::new(), lists: Vec::new() })
        }
        Err(source) => Err(StartError::Directory { path: path.to_owned(), source }),
    }
}

fn is_dispensable(error: &io::Error, directory: &RulesDirectory) -> bool {
    let is_there = |path: &Path| path.exists();
    error.kind() == io::ErrorKind::NotFound && directory.may_be_missing && !is_there(&directory.path)
}

/// The same rules and lists as in the last run are the same version.
async fn put_first_set_in_force(
    means: &Arc<Means>,
    contents: Contents,
    stored: &Stored,
) -> Result<(), IntakeError> {
    let last_version = stored.last_set.as_ref().map_or(0, |set| set.version);
    let sandbox = means.sandbox.clone();
    let candidate = off_the_executor(move || Ok(contents.under(&sandbox, last_version))).await?;
    if is_as_stored(&candidate, stored) {
        change::swap(means, candidate);
    } else {
        change::bring_into_force(means, last_version, Contents::of(&candidate)).await?;
    }
    let in_force = means.registry.current();
    tracing::info!(version = in_force.version, rules = in_force.rules.len(), "rule set in force");
    Ok(())
}

fn is_as_stored(candidate: &RuleSet, stored: &Stored) -> bool {
    let records = candidate.rules.iter().map(|in_force| in_force.rule.instruction.record.as_ref());
    let lists = candidate.lists.iter().map(|(name, list)| change::list_record(name, list));
    stored.last_set.as_ref() == Some(&identity_of(candidate))
        && records.eq(&stored.instructions)
        && lists.eq(stored.lists.iter().cloned())
}

fn identity_of(rule_set: &RuleSet) -> RuleSetIdentity {
    let member = |in_force: &RuleInForce| {
        let instruction = &in_force.rule.instruction;
        (instruction.record.id, instruction.digest)
    };
    RuleSetIdentity {
        version: rule_set.version,
        members: rule_set.rules.iter().map(member).collect(),
        lists: rule_set.lists.iter().map(|(name, list)| (name.to_owned(), list.digest)).collect(),
        commit: rule_set.commit.clone(),
        service: Some(SERVICE_VERSION.into()),
        semantics: rule_set.semantics,
    }
}
