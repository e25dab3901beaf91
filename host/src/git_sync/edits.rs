//! What changed over the API and is yet to be written into the work tree.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::git::{GitError, LocalClone};
use crate::instruction::{InstructionRecord, InstructionSource};
use crate::intake::{Intake, ScriptSink};
use crate::store::ListRecord;
use crate::telemetry::logs::Causes;

/// Remembers changes until somebody writes them; of each file only the last. Without a repository it remembers nothing.
#[derive(Debug, Default)]
pub struct Edits {
    is_on: AtomicBool,
    waiting: Mutex<BTreeMap<Subject, Edit>>,
    pub(super) came: Notify,
}

/// What is changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Rule(String),
    List(String),
}

/// How it is changed.
#[derive(Debug, Clone)]
enum Edit {
    Written(Arc<str>),
    /// The file it came from, and what it said.
    Removed {
        path: Option<String>,
        script: Arc<str>,
    },
}

impl ScriptSink for Edits {
    fn saved(&self, instruction: &InstructionRecord) {
        self.add(Subject::Rule(instruction.name.clone()), Edit::Written(instruction.script.as_str().into()));
    }

    fn removed(&self, instruction: &InstructionRecord) {
        let path = match &instruction.source {
            InstructionSource::Git { path, .. } => Some(path.clone()),
            InstructionSource::Api => None,
            // A file of the rules directory is none of the repository's.
            InstructionSource::File { .. } => return,
        };
        let script = instruction.script.as_str().into();
        self.add(Subject::Rule(instruction.name.clone()), Edit::Removed { path, script });
    }

    fn list_saved(&self, list: &ListRecord) {
        self.add(Subject::List(list.name.clone()), Edit::Written(Arc::clone(&list.entries)));
    }

    fn list_removed(&self, name: &str) {
        self.add(Subject::List(name.to_owned()), Edit::Removed { path: None, script: Arc::from("") });
    }
}

impl Edits {
    fn add(&self, subject: Subject, edit: Edit) {
        if self.is_on.load(Ordering::Relaxed) {
            self.waiting.lock().insert(subject, edit);
            self.came.notify_one();
        }
    }

    /// From here on there is a work tree: everything that was saved over the API belongs into it.
    pub(super) fn begin(&self, intake: &Intake) {
        self.is_on.store(true, Ordering::Relaxed);
        for listed in intake.instructions() {
            let record = &listed.instruction.record;
            if record.source == InstructionSource::Api {
                self.saved(record);
            }
        }
        for (name, list) in intake.lists().iter() {
            if list.source == InstructionSource::Api {
                self.add(Subject::List(name.to_owned()), Edit::Written(Arc::clone(&list.text)));
            }
        }
    }

    /// Writes what waits into the work tree. What cannot be written is reported and stays in force.
    pub(super) fn write(&self, clone: &LocalClone) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        for (subject, edit) in waiting {
            let written = match (&subject, &edit) {
                (Subject::Rule(name), Edit::Written(script)) => clone.save_script(name, script),
                (Subject::Rule(name), Edit::Removed { path, script }) => {
                    clone.remove_script(name, path.as_deref(), script)
                }
                (Subject::List(name), Edit::Written(text)) => clone.save_list(name, text),
                (Subject::List(name), Edit::Removed { .. }) => clone.remove_list(name),
            };
            report(&subject, written);
        }
    }
}

fn report(subject: &Subject, written: Result<(), GitError>) {
    if let Err(error) = written {
        tracing::error!(error = %Causes(&error), subject = ?subject, "a change over the API is not in the work tree");
    }
}
