//! Queue of changes over the API that are not in the work tree yet.
//!
//! Only the final state of each rule and list counts, together with the removals before it. A rule that is removed and
//! saved again loses its old file and gets a new one. A change that cannot be written stays in the queue, is reported,
//! and is retried.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tollgate_git::{EditOutcome, GitError, LocalClone, OwnFileContent, WorkTreeEdit};
use tollgate_model::instruction::{InstructionRecord, InstructionSource};
use tollgate_store::{ListRecord, UnpushedRemoval};

use crate::intake::{Intake, ScriptSink};
use tollgate_telemetry::logs::ErrorChain;

/// Queue of changes until they are written; ignores changes while no repository is followed.
#[derive(Debug, Default)]
pub struct PendingEdits {
    is_on: AtomicBool,
    waiting: Mutex<QueuedEdits>,
    pub(super) came: Notify,
    /// The value of [`QueuedEdits::n_added`] up to which the writing task has tried to write.
    attempted: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct QueuedEdits {
    pending: BTreeMap<EditSubject, PendingEdit>,
    /// Subjects saved over the API, if they are to be compared with the files: files written for other subjects are
    /// removed.
    saved: Option<BTreeSet<EditSubject>>,
    unwritten: Vec<Unwritten>,
    /// The number of changes added so far.
    n_added: u64,
}

/// Subject of a change; identifies its file.
type EditSubject = OwnFileContent;

/// Change of a subject: first the removals, then the write.
#[derive(Debug, Clone, Default)]
struct PendingEdit {
    removals: Vec<Removal>,
    content: Option<Arc<[u8]>>,
}

/// File of a removed rule, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Removal {
    path: Option<String>,
    content: Arc<[u8]>,
}

/// A change over the API that is not in the work tree yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwritten {
    /// Rule or list that changed.
    pub subject: EditSubject,
    /// Path of the conflicting file, if there is one.
    pub path: Option<String>,
    /// Reason, for people.
    pub message: String,
}

impl ScriptSink for PendingEdits {
    fn saved(&self, instruction: &InstructionRecord) {
        self.write_later(subject_of(instruction), instruction.written().into());
    }

    fn removed(&self, instruction: &InstructionRecord) {
        let path = match &instruction.source {
            InstructionSource::Git { path, .. } => Some(path.clone()),
            InstructionSource::Api | InstructionSource::Upload => None,
            // A file of the rules directory does not belong to the repository.
            InstructionSource::File { .. } => return,
        };
        self.remove_later(subject_of(instruction), Removal { path, content: instruction.written().into() });
    }

    fn list_saved(&self, list: &ListRecord) {
        self.write_later(EditSubject::List(list.name.clone()), list.entries.as_bytes().into());
    }

    fn list_removed(&self, name: &str) {
        self.remove_later(EditSubject::List(name.to_owned()), Removal::of_what_was_written());
    }
}

impl PendingEdits {
    fn write_later(&self, subject: EditSubject, content: Arc<[u8]>) {
        self.add(subject, |pending| pending.content = Some(content));
    }

    fn remove_later(&self, subject: EditSubject, removal: Removal) {
        self.add(subject, |pending| {
            // Content saved after the last removal was never written.
            let was_written = pending.content.take().is_none();
            if (was_written || pending.removals.is_empty()) && !pending.removals.contains(&removal) {
                pending.removals.push(removal);
            }
        });
    }

    fn add(&self, subject: EditSubject, change: impl FnOnce(&mut PendingEdit)) {
        if self.is_on.load(Ordering::Relaxed) {
            self.waiting.lock().add(subject, change);
            self.came.notify_one();
        }
    }

    /// Starts following a repository: everything saved over the API goes into its work tree.
    pub(super) fn begin(&self, intake: &Intake) {
        self.is_on.store(true, Ordering::Relaxed);
        // First, because a rule that was saved since may have the name of a removed one.
        for UnpushedRemoval { path, name, content, .. } in intake.unpushed_removals() {
            let removal = Removal { path: Some(path), content: content.bytes().into() };
            self.remove_later(subject_of_content(name, content.script().is_some()), removal);
        }
        for listed in intake.instructions() {
            let record = &listed.instruction.record;
            if record.source.is_over_api() {
                self.saved(record);
            }
        }
        for (name, list) in intake.lists().iter() {
            if list.source == InstructionSource::Api {
                self.write_later(EditSubject::List(name.to_owned()), list.text.as_bytes().into());
            }
        }
        self.compare(intake);
        self.came.notify_one();
    }

    /// Gives up the removal of a file that is not written yet.
    pub(super) fn give_up(&self, removal: &UnpushedRemoval) {
        let subject = subject_of_content(removal.name.clone(), removal.content.script().is_some());
        let mut waiting = self.waiting.lock();
        if let Some(pending) = waiting.pending.get_mut(&subject) {
            pending.removals.retain(|one| one.path.as_ref() != Some(&removal.path));
        }
        waiting.pending.retain(|_, pending| !pending.is_empty());
    }

    /// Like `begin`, for another repository: pending removals of the previous one do not apply to it.
    pub(super) fn restart(&self, intake: &Intake) {
        *self.waiting.lock() = QueuedEdits::default();
        self.begin(intake);
    }

    /// Requests removal of files written for rules and lists that are no longer saved over the API. They now come from
    /// the repository, or were removed without a notification.
    pub(super) fn compare(&self, intake: &Intake) {
        // INVARIANT: under the lock. A change that comes into force after this read is also added after it.
        let mut waiting = self.waiting.lock();
        let rules = intake.instructions().map(|listed| listed.instruction);
        let rules = rules.filter(|rule| rule.record.source.is_over_api());
        let mut saved: BTreeSet<EditSubject> = rules.map(|rule| subject_of(&rule.record)).collect();
        let lists = intake.lists();
        let lists = lists.iter().filter(|(_, list)| list.source == InstructionSource::Api);
        saved.extend(lists.map(|(name, _)| EditSubject::List(name.to_owned())));
        waiting.saved = Some(saved);
    }

    /// Returns whether there is anything to write or compare.
    pub(super) fn are_waiting(&self) -> bool {
        self.waiting.lock().is_any()
    }

    /// The number of changes added so far.
    pub(super) fn n_added(&self) -> u64 {
        self.waiting.lock().n_added
    }

    /// Notes that the writing task has tried to write the first `n_added` changes.
    pub(super) fn mark_attempted(&self, n_added: u64) {
        self.attempted.send_replace(n_added);
    }

    /// Waits until the writing task has tried to write every change added so far, for at most `wait`.
    pub(super) async fn attempted(&self, wait: Duration) {
        let n_added = self.n_added();
        if !self.are_waiting() || *self.attempted.borrow() >= n_added {
            return;
        }
        let mut attempted = self.attempted.subscribe();
        let tried = attempted.wait_for(|attempted| *attempted >= n_added);
        timeout(wait, tried).await.ok();
    }

    /// Returns all pending changes as unwritten, for use without a work tree.
    pub(super) fn without_a_clone(&self) -> Vec<Unwritten> {
        let message = "there is no clone of the repository yet";
        let of = |subject: &EditSubject| Unwritten {
            subject: subject.clone(),
            path: None,
            message: message.to_owned(),
        };
        self.waiting.lock().pending.keys().map(of).collect()
    }

    /// Returns the changes that the last attempt could not write.
    pub(super) fn unwritten(&self) -> Vec<Unwritten> {
        self.waiting.lock().unwritten.clone()
    }

    /// Writes the pending changes into the work tree. A change that cannot be written is reported and stays in the
    /// queue.
    pub(super) fn write(&self, clone: &LocalClone) {
        let (pending, saved) = {
            let mut waiting = self.waiting.lock();
            if !waiting.is_any() {
                return;
            }
            (std::mem::take(&mut waiting.pending), waiting.saved.take())
        };
        let (left, unwritten) = match clone.saving() {
            Ok(mut saving) => write_all(&mut saving, pending, saved),
            Err(error) => {
                let all = pending.keys().map(|subject| unwritten(subject, &error)).collect();
                (pending, all)
            }
        };
        self.put_back(left, unwritten);
    }

    /// Puts changes back before those that arrived meanwhile.
    fn put_back(&self, left: BTreeMap<EditSubject, PendingEdit>, unwritten: Vec<Unwritten>) {
        let mut waiting = self.waiting.lock();
        for (subject, before) in left {
            let since = waiting.pending.remove(&subject).unwrap_or_default();
            waiting.pending.insert(subject, before.then(since));
        }
        for new in unwritten.iter().filter(|new| !waiting.unwritten.contains(new)) {
            let Unwritten { subject, path, message } = new;
            tracing::error!(%subject, path, error = message, "a change over the API is not in the work tree yet");
        }
        waiting.unwritten = unwritten;
    }
}

impl QueuedEdits {
    fn is_any(&self) -> bool {
        !self.pending.is_empty() || self.saved.is_some()
    }

    fn add(&mut self, subject: EditSubject, change: impl FnOnce(&mut PendingEdit)) {
        if let Some(saved) = &mut self.saved {
            saved.insert(subject.clone());
        }
        change(self.pending.entry(subject).or_default());
        self.n_added += 1;
    }
}

impl Removal {
    /// Removes whatever the service wrote for the subject.
    fn of_what_was_written() -> Self {
        Self { path: None, content: Arc::from([]) }
    }
}

fn subject_of(record: &InstructionRecord) -> EditSubject {
    subject_of_content(record.name.clone(), record.script.is_some())
}

fn subject_of_content(name: String, is_script: bool) -> EditSubject {
    if is_script { EditSubject::Script(name) } else { EditSubject::Module(name) }
}

impl PendingEdit {
    fn is_empty(&self) -> bool {
        self.removals.is_empty() && self.content.is_none()
    }

    /// Combines two changes, the later one last.
    fn then(mut self, later: Self) -> Self {
        let is_removed = !later.removals.is_empty();
        let content = if is_removed { later.content } else { later.content.or(self.content) };
        self.removals.extend(later.removals);
        self.removals.dedup();
        Self { removals: self.removals, content }
    }
}

/// Removes and then writes; returns the remaining changes and their errors.
fn write_all(
    saving: &mut WorkTreeEdit<'_>,
    mut pending: BTreeMap<EditSubject, PendingEdit>,
    saved: Option<BTreeSet<EditSubject>>,
) -> (BTreeMap<EditSubject, PendingEdit>, Vec<Unwritten>) {
    for subject in saved.map(|saved| left_over(saving, &saved)).unwrap_or_default() {
        pending.entry(subject).or_default().removals.insert(0, Removal::of_what_was_written());
    }
    let mut unwritten = Vec::new();
    // All removals come first, because a rule may be saved under a path that another rule vacates.
    for (subject, pending) in &mut pending {
        pending.removals.retain(|removal| {
            let fault =
                fault(subject, saving.remove_file(subject, removal.path.as_deref(), &removal.content));
            let is_left = fault.is_some();
            unwritten.extend(fault);
            is_left
        });
    }
    for (subject, pending) in &mut pending {
        let Some(content) = &pending.content else { continue };
        match fault(subject, saving.write_file(subject, content)) {
            None => pending.content = None,
            fault => unwritten.extend(fault),
        }
    }
    pending.retain(|_, pending| !pending.is_empty());
    (pending, unwritten)
}

/// Returns subjects whose files the service wrote but that are no longer saved over the API.
fn left_over(saving: &WorkTreeEdit<'_>, saved: &BTreeSet<EditSubject>) -> Vec<EditSubject> {
    saving.own_subjects().into_iter().filter(|subject| !saved.contains(subject)).collect()
}

/// Converts a result into the reason why a change is not in the work tree, if any.
fn fault(subject: &EditSubject, placed: Result<EditOutcome, GitError>) -> Option<Unwritten> {
    match placed {
        Ok(EditOutcome::Done) => None,
        Ok(EditOutcome::Not(path, obstacle)) => {
            Some(Unwritten { subject: subject.clone(), path: Some(path), message: obstacle.to_string() })
        }
        Err(error) => Some(unwritten(subject, &error)),
    }
}

fn unwritten(subject: &EditSubject, error: &GitError) -> Unwritten {
    Unwritten { subject: subject.clone(), path: None, message: ErrorChain(error).to_string() }
}

#[cfg(test)]
impl PendingEdits {
    /// Adds a list like a failed write: it is pending, without a notification.
    pub(super) fn leave_behind(&self, list: &str, entries: &str) {
        let pending = PendingEdit { removals: Vec::new(), content: Some(entries.as_bytes().into()) };
        self.put_back(BTreeMap::from([(EditSubject::List(list.to_owned()), pending)]), Vec::new());
    }
}
