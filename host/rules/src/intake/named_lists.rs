//! Named lists over the API: each change is one swap.

use std::collections::HashSet;
use std::sync::Arc;

use tollgate_engine::registry::{ListInForce, Lists, RuleSet};
use tollgate_model::instruction::InstructionSource;
use tollgate_model::named_list::LIST_BYTES_MAX;
use tollgate_model::named_list::format::{self, ENTRY_CHARACTERS_MAX, NotAList};
use tollgate_model::named_list::oddities;
use tollgate_model::named_list::text;

use crate::intake::change::{self, RuleChange, list_record};
use crate::intake::list_texts::warn_of_oddities;
use crate::intake::list_warnings::EntryWarnings;
use crate::intake::precondition::{Precondition, tag_of_list};
use crate::intake::warnings::renewed;
use crate::intake::{Intake, IntakeError, RulePipeline, off_the_executor, run_detached};

/// Maximum number of entries of a list set over the API.
pub const LIST_ENTRIES_MAX: usize = 1_000_000;
/// Longest name of a list set over the API, in bytes.
pub const LIST_NAME_BYTES_MAX: usize = 128;

/// Result of setting a list.
#[derive(Debug, Clone)]
pub struct SavedList {
    /// The list in force.
    pub list: ListInForce,
    /// Whether the name had no list before.
    pub is_new: bool,
    /// Entries that may not be what their author meant.
    pub warnings: EntryWarnings,
}

impl Intake {
    /// Sets a list to these entries, taken literally. Duplicate entries count once.
    ///
    /// # Errors
    /// [`IntakeError::NotGranted`] if the policy does not grant the change, [`IntakeError::InvalidList`],
    /// [`IntakeError::ListTaken`], [`IntakeError::TooManyLists`], [`IntakeError::Unavailable`].
    pub async fn set_list_entries(
        &self,
        name: &str,
        entries: Vec<Box<str>>,
        condition: Precondition,
    ) -> Result<SavedList, IntakeError> {
        self.pipeline.check_list_change(name)?;
        let (text, warnings) =
            off_the_executor(move || Ok((text_of(&entries)?, EntryWarnings::of_entries(&entries)))).await?;
        Ok(SavedList { warnings, ..self.set_list(name, text, condition).await? })
    }

    /// Sets a list to a text in the format of a list file.
    ///
    /// # Errors
    /// Those of [`Intake::set_list_entries`].
    pub async fn set_list(
        &self,
        name: &str,
        text: String,
        condition: Precondition,
    ) -> Result<SavedList, IntakeError> {
        if !is_name(name) {
            return Err(IntakeError::InvalidList(format!(
                "a list's name consists of letters, digits and `_`, begins with a letter or `_`, may have parts separated by `.`, \
                 and has at most {LIST_NAME_BYTES_MAX} bytes; `current` is not allowed"
            )));
        }
        self.pipeline.check_list_change(name)?;
        let text =
            off_the_executor(move || format::check(&text).map(|()| text).map_err(|why| not_a_list(&why)))
                .await?;
        let (pipeline, name) = (Arc::clone(&self.pipeline), name.to_owned());
        run_detached(async move { pipeline.set_list(name, text, &condition).await }).await
    }

    /// Removes a list that was set over the API. Rules that name it fail afterwards.
    ///
    /// # Errors
    /// [`IntakeError::NotGranted`] if the policy does not grant the change, [`IntakeError::ListNotFound`],
    /// [`IntakeError::ListTaken`] if it comes from a file, [`IntakeError::Unavailable`].
    pub async fn remove_list(&self, name: &str, condition: Precondition) -> Result<(), IntakeError> {
        self.pipeline.check_list_change(name)?;
        let (pipeline, name) = (Arc::clone(&self.pipeline), name.to_owned());
        run_detached(async move { pipeline.remove_list(&name, &condition).await }).await
    }
}

impl RulePipeline {
    /// Checks whether the policy lets the API change a list, whatever source it has.
    fn check_list_change(&self, name: &str) -> Result<(), IntakeError> {
        self.deps.policy.check_set_list(name)?;
        match self.deps.registry.current().lists.get(name) {
            Some(list) => Ok(self.deps.policy.check_change(&list.source)?),
            None => Ok(()),
        }
    }

    async fn set_list(
        self: Arc<Self>,
        name: String,
        text: String,
        condition: &Precondition,
    ) -> Result<SavedList, IntakeError> {
        let (list, warnings) = off_the_executor(move || {
            let list = list_of(&text)?;
            let warnings = EntryWarnings::of_text(&list.text);
            Ok((list, warnings))
        })
        .await?;
        let _one_at_a_time = self.state.lock().await;
        let current = self.deps.registry.current();
        let before = own_list(&current, &name)?;
        condition.check(before.map(|before| [tag_of_list(before)]).as_ref().map(|tags| tags.as_slice()))?;
        if before.is_some_and(|before| before.is_same(&list)) {
            return Ok(SavedList { list, is_new: false, warnings });
        }
        if !current.lists.has_room_for(&name, list.text.len()) {
            return Err(IntakeError::TooManyLists);
        }
        let is_new = before.is_none();
        let mut lists = current.lists.clone();
        lists.insert(&name, list.clone());
        self.change_lists(lists, is_new.then(|| name.clone())).await?;
        warn_of_oddities(&name, &list, &oddities::of_text(&list.text));
        tracing::info!(list = name, entries = list.members.len(), "list set");
        if let Some(sink) = &self.deps.sink {
            sink.list_saved(&list_record(&name, &list));
        }
        Ok(SavedList { list, is_new, warnings })
    }

    async fn remove_list(self: Arc<Self>, name: &str, condition: &Precondition) -> Result<(), IntakeError> {
        let _one_at_a_time = self.state.lock().await;
        let current = self.deps.registry.current();
        let Some(list) = own_list(&current, name)? else {
            return Err(IntakeError::ListNotFound(name.to_owned()));
        };
        condition.check(Some(&[tag_of_list(list)]))?;
        let mut lists = current.lists.clone();
        lists.remove(name);
        self.change_lists(lists, Some(name.to_owned())).await?;
        tracing::info!(list = name, "list removed");
        if let Some(sink) = &self.deps.sink {
            sink.list_removed(name);
        }
        Ok(())
    }

    /// Brings these lists into force. Rules that name an added or removed list get new warnings.
    async fn change_lists(&self, lists: Lists, changed_list: Option<String>) -> Result<(), IntakeError> {
        let deps = Arc::clone(&self.deps);
        let change = off_the_executor(move || {
            let replace = match changed_list {
                Some(name) => renewed(&deps, &lists, &deps.registry.current(), &[name]),
                None => Vec::new(),
            };
            Ok(RuleChange { replace, lists: Some(lists), ..RuleChange::default() })
        });
        change::bring_into_force(&self.deps, change.await?).await.map(drop)
    }
}

/// Returns the list of this name, if any; fails if it comes from a file.
fn own_list<'c>(current: &'c RuleSet, name: &str) -> Result<Option<&'c ListInForce>, IntakeError> {
    match current.lists.get(name) {
        Some(list) if list.source != InstructionSource::Api => {
            let source_of_list = list.source.clone();
            Err(IntakeError::ListTaken { name: name.to_owned(), source_of_list })
        }
        list => Ok(list),
    }
}

fn list_of(text: &str) -> Result<ListInForce, IntakeError> {
    if text.len() as u64 > LIST_BYTES_MAX {
        return Err(IntakeError::InvalidList(format!("a list has at most {LIST_BYTES_MAX} bytes")));
    }
    let list = ListInForce::new(text, InstructionSource::Api);
    check_count(list.members.len())?;
    Ok(list)
}

pub(super) fn not_a_list(why: &NotAList) -> IntakeError {
    let line = why.line().map(|line| format!(", line {line}")).unwrap_or_default();
    IntakeError::InvalidList(format!("the body is not a list (`{}`{line}): {why}", why.code()))
}

pub(super) fn check_count(n_entries: usize) -> Result<(), IntakeError> {
    if n_entries > LIST_ENTRIES_MAX {
        let message = format!("a list has at most {LIST_ENTRIES_MAX} entries, this one has {n_entries}");
        return Err(IntakeError::InvalidList(message));
    }
    Ok(())
}

fn text_of(entries: &[Box<str>]) -> Result<String, IntakeError> {
    check_count(entries.len())?;
    for (index, entry) in entries.iter().enumerate() {
        let n_characters =
            if entry.len() > ENTRY_CHARACTERS_MAX { entry.chars().count() } else { entry.len() };
        if n_characters == 0 || n_characters > ENTRY_CHARACTERS_MAX {
            return Err(IntakeError::InvalidList(format!(
                "entry {index} has {n_characters} characters, 1 to {ENTRY_CHARACTERS_MAX} are allowed"
            )));
        }
    }
    let mut seen = HashSet::with_capacity(entries.len());
    Ok(text::text_of(entries.iter().map(|entry| &**entry).filter(|entry| seen.insert(*entry))))
}

/// Returns whether a script can refer to `$name`.
fn is_name(name: &str) -> bool {
    let is_key = |key: &str| {
        key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && key.bytes().next().is_some_and(|first| !first.is_ascii_digit())
    };
    name.len() <= LIST_NAME_BYTES_MAX
        && name.split('.').all(is_key)
        && name.split('.').next() != Some("current")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_a_script_could_say() {
        for good in ["a", "_a1", "high_risk.eu", "Blocked"] {
            assert!(is_name(good), "{good}");
        }
        let long = "a".repeat(LIST_NAME_BYTES_MAX + 1);
        for bad in ["", "1a", "a b", "a..b", ".a", "a.", "ä", "current", "current.x", "a/b", "..", &long] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn entries_are_lines_of_a_list_file() {
        let text =
            |entries: &[&str]| text_of(&entries.iter().map(|entry| (*entry).into()).collect::<Vec<_>>());
        assert_eq!(text(&["b", "a b", "b"]).unwrap(), "b\na b\n");
        assert_eq!(text(&["#1", "a\nb", "a #1"]).unwrap(), "\"#1\"\n\"a\\nb\"\na #1\n");
        for bad in ["", &"x".repeat(1025)] {
            let error = text(&["good", bad]).unwrap_err().to_string();
            assert!(error.starts_with("entry 1 "), "{bad:?}: {error}");
        }
    }
}
