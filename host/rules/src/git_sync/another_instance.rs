//! Other instances of the service that push to the same branch.
//!
//! Each instance keeps its own history. Two instances behind one load balancer therefore count half of the payments
//! each, and rules approve what they should hold. A commit of the service names its instance, so that a push notices
//! another one.

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use tollgate_git::CommitNote;

/// Name of the trailer in the message of a commit.
const TRAILER: &str = "Tollgate-Instance";
/// Time after its commit for which another instance counts as running.
const COUNTS_FOR: TimeDelta = TimeDelta::minutes(10);

/// The commit of another instance that a push found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AnotherInstance {
    id: String,
    committed_at: DateTime<Utc>,
}

/// Notices other instances.
#[derive(Debug)]
pub(super) struct InstanceWatch {
    /// Id of this instance.
    id: String,
    found: Mutex<Option<AnotherInstance>>,
}

impl InstanceWatch {
    pub(super) const fn new(id: String) -> Self {
        Self { id, found: Mutex::new(None) }
    }

    /// Returns a commit message with the trailer of this instance.
    pub(super) fn sign(&self, message: &str) -> String {
        let last = message.rsplit("\n\n").next().filter(|last| last.len() < message.len());
        let ends_in_trailers = last.is_some_and(|last| last.lines().all(is_trailer));
        let gap = if ends_in_trailers { "\n" } else { "\n\n" };
        format!("{message}{gap}{TRAILER}: {}", self.id)
    }

    /// Examines the commit of the remote to which a push is about to add.
    pub(super) fn examine(&self, theirs: &CommitNote) {
        let id = instance_of(&theirs.message).filter(|id| *id != self.id);
        let found = id.zip(DateTime::from_timestamp(theirs.committed_seconds, 0));
        *self.found.lock() =
            found.map(|(id, committed_at)| AnotherInstance { id: id.to_owned(), committed_at });
    }

    /// Describes another instance that pushed within the last ten minutes.
    pub(super) fn describe(&self, now: DateTime<Utc>) -> Option<String> {
        let found = self.found.lock().clone()?;
        let AnotherInstance { id, committed_at } = found;
        ((now - committed_at).abs() <= COUNTS_FOR).then(|| {
            format!(
                "another instance, {id}, pushed to this branch at {}; each instance counts only the payments that it was sent, so run one",
                committed_at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
            )
        })
    }
}

/// Returns whether a line is `Name: value`.
fn is_trailer(line: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '-')
    };
    line.split_once(": ").is_some_and(|(name, _)| is_name(name))
}

/// Returns the instance that a commit message names.
fn instance_of(message: &str) -> Option<&str> {
    let lines = message.trim_end().rsplit("\n\n").next()?.lines();
    let values = lines.filter_map(|line| line.strip_prefix(TRAILER)?.strip_prefix(": "));
    let is_id = |id: &&str| id.bytes().all(|byte| byte.is_ascii_hexdigit()) && id.len() <= 64;
    values.map(str::trim).rfind(is_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(message: &str, committed_seconds: i64) -> CommitNote {
        CommitNote { message: message.to_owned(), committed_seconds }
    }

    #[track_caller]
    fn check_signed(message: &str, expected: &str) {
        let signed = InstanceWatch::new("1f".to_owned()).sign(message);
        assert_eq!(signed, expected);
        assert_eq!(instance_of(&signed), Some("1f"));
    }

    #[test]
    fn a_message_ends_in_one_block_of_trailers() {
        check_signed("One more rule", "One more rule\n\nTollgate-Instance: 1f");
        check_signed("Note: a rule", "Note: a rule\n\nTollgate-Instance: 1f");
        check_signed(
            "A\n\nThe reason: it is\nneeded",
            "A\n\nThe reason: it is\nneeded\n\nTollgate-Instance: 1f",
        );
        check_signed("A\n\nSigned-off-by: b", "A\n\nSigned-off-by: b\nTollgate-Instance: 1f");
    }

    #[test]
    fn another_instance_counts_for_ten_minutes() {
        let watch = InstanceWatch::new("1f".to_owned());
        let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
        let of = |id: &str| note(&format!("A rule\n\nTollgate-Instance: {id}\n"), 1_000);
        watch.examine(&of("2e"));
        assert!(watch.describe(at(1_600)).unwrap().starts_with("another instance, 2e, pushed"));
        assert_eq!(watch.describe(at(1_601)), None);
        for harmless in [of("1f"), of("no id"), note("A rule by hand", 1_000)] {
            watch.examine(&of("2e"));
            watch.examine(&harmless);
            assert_eq!(watch.describe(at(1_000)), None, "{harmless:?}");
        }
    }
}
