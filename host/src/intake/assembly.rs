//! Rules gathered from both sources; the first to give a name keeps it, saved ones before files.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_compiler::{headline, render};

use crate::instruction::{InstructionId, InstructionRecord, InstructionSource};
use crate::intake::rule_files::ScriptFile;
use crate::intake::start::StartError;
use crate::intake::{Draft, Identity, IntakeError, Means};
use crate::registry::{Lists, RULES_MAX, Rule};

/// The rules of a run, as far as they are brought together.
pub(super) struct Assembly<'a> {
    means: &'a Means,
    lists: &'a Lists,
    pub(super) rules: Vec<Arc<Rule>>,
    /// The last instruction id given.
    pub(super) last_id: i64,
    /// Rule files that are not in force as they lie there.
    pub(super) n_refused: usize,
}

/// Why a file does not become an instruction.
enum FileError {
    Unreadable(String),
    Refused(IntakeError),
}

impl<'a> Assembly<'a> {
    pub(super) const fn new(means: &'a Means, lists: &'a Lists, last_id: i64) -> Self {
        Self { means, lists, rules: Vec::new(), last_id, n_refused: 0 }
    }

    /// Adds what was saved over the API.
    pub(super) fn add_saved(&mut self, stored: &[InstructionRecord]) -> Result<(), StartError> {
        let saved = stored.iter().filter(|record| record.source == InstructionSource::Api);
        saved.into_iter().try_for_each(|record| self.add_record(record))
    }

    /// Adds the rule files, in order of their paths.
    pub(super) fn add_files(
        &mut self,
        scripts: &[ScriptFile],
        stored: &[InstructionRecord],
    ) -> Result<(), StartError> {
        let mut by_path: BTreeMap<&str, &InstructionRecord> = BTreeMap::new();
        for record in stored {
            if let InstructionSource::File { path } = &record.source {
                by_path.insert(path, record);
            }
        }
        for script in scripts {
            let known = by_path.remove(script.path.as_str());
            if let Err(error) = self.add_file(script, known) {
                self.n_refused += 1;
                self.report(script, &error);
                self.keep_last_good(script, known)?;
            }
        }
        for path in by_path.keys() {
            tracing::info!(path, "a rule file is gone; its instruction is removed");
        }
        Ok(())
    }

    fn add(&mut self, draft: Draft, identity: Identity) -> Result<(), IntakeError> {
        if self.rule_named(draft.name()).is_some() {
            return Err(IntakeError::NameTaken(draft.name().to_owned()));
        }
        if self.rules.len() >= RULES_MAX {
            return Err(IntakeError::TooMany);
        }
        self.rules.push(Arc::new(draft.bind(&self.means.history, identity)?));
        Ok(())
    }

    fn rule_named(&self, name: &str) -> Option<&Arc<Rule>> {
        self.rules.iter().find(|rule| rule.instruction.entry.name == name)
    }

    /// Brings back what is stored: compiled anew, or, where this version of the compiler refuses it, as it was.
    fn add_record(&mut self, record: &InstructionRecord) -> Result<(), StartError> {
        let failed = |error: &dyn std::fmt::Display| StartError::Instruction {
            name: record.name.clone(),
            reason: error.to_string(),
        };
        let sandbox = &self.means.sandbox;
        let draft = Draft::compile(sandbox, self.lists, record.script.clone()).or_else(|error| {
            tracing::warn!(rule.name = record.name, error = %error, "its stored module stays in force");
            Draft::stored(sandbox, record)
        });
        let draft = draft.map_err(|error| failed(&error))?;
        self.add(draft, Identity::of(record)).map_err(|error| failed(&error))
    }

    fn add_file(&mut self, script: &ScriptFile, known: Option<&InstructionRecord>) -> Result<(), FileError> {
        let text = script.text.as_ref().map_err(|error| FileError::Unreadable(error.to_string()))?;
        let draft =
            Draft::compile(&self.means.sandbox, self.lists, text.clone()).map_err(FileError::Refused)?;
        let identity = match known {
            Some(record) if record.name == draft.name() => {
                let unchanged = record.script == *text;
                let updated_at = if unchanged { record.updated_at } else { self.means.clock.now() };
                Identity { updated_at, ..Identity::of(record) }
            }
            _ => self.new_identity(script),
        };
        self.add(draft, identity).map_err(FileError::Refused)
    }

    fn new_identity(&mut self, script: &ScriptFile) -> Identity {
        self.last_id += 1;
        let source = InstructionSource::File { path: script.path.clone() };
        Identity::new(InstructionId(self.last_id), source, self.means.clock.now())
    }

    /// A file that is refused keeps its last good version, unless another rule has taken its name meanwhile.
    fn keep_last_good(
        &mut self,
        script: &ScriptFile,
        known: Option<&InstructionRecord>,
    ) -> Result<(), StartError> {
        let Some(record) = known.filter(|record| self.rule_named(&record.name).is_none()) else {
            return Ok(());
        };
        self.add_record(record)?;
        tracing::warn!(path = script.path, rule.name = record.name, "its last good version stays in force");
        Ok(())
    }

    fn report(&self, script: &ScriptFile, error: &FileError) {
        let path = &script.path;
        match error {
            FileError::Unreadable(error) => tracing::error!(path, error, "a rule file cannot be read"),
            FileError::Refused(IntakeError::Compile(diagnostics)) => {
                let text = script.text.as_deref().unwrap_or_default();
                let rendered = render(text, path, diagnostics, false);
                tracing::error!(path, diagnostics = rendered, "{}", headline(diagnostics));
            }
            FileError::Refused(error @ IntakeError::NameTaken(name)) => {
                let source = self.rule_named(name).map(|rule| &rule.instruction.record.source);
                tracing::error!(path, error = %error, taken_by = ?source, "a rule file is refused");
            }
            FileError::Refused(error) => tracing::error!(path, error = %error, "a rule file is refused"),
        }
    }
}
