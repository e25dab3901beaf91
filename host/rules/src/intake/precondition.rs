//! Conditions of a change on the content that it replaces or removes.

use tollgate_engine::registry::ListInForce;
use tollgate_model::instruction::{ContentDigest, Instruction};

use crate::intake::IntakeError;

/// A condition of a change. Contents are told apart by their tags, as HTTP's `ETag` and `If-Match` do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Precondition {
    /// The change is made whatever is in force.
    #[default]
    None,
    /// Nothing is in force under this name.
    Absent,
    /// Something is in force.
    Present,
    /// What is in force has one of these tags.
    OneOf(Vec<String>),
}

impl Precondition {
    /// Checks the condition against the tags of what is in force; each of them names the same content.
    pub(super) fn check(&self, tags: Option<&[String]>) -> Result<(), IntakeError> {
        let holds = match (self, tags) {
            (Self::None, _) | (Self::Absent, None) | (Self::Present, Some(_)) => true,
            (Self::OneOf(wanted), Some(tags)) => wanted.iter().any(|tag| tags.contains(tag)),
            (Self::Absent, Some(_)) | (Self::Present | Self::OneOf(_), None) => false,
        };
        if holds { Ok(()) } else { Err(IntakeError::PreconditionFailed) }
    }
}

/// Returns the tag of a list: the digest of its text.
#[must_use]
pub fn tag_of_list(list: &ListInForce) -> String {
    list.digest.to_string()
}

/// Returns the tag of an instruction: the digest of what its author wrote.
#[must_use]
pub fn tag_of_instruction(instruction: &Instruction) -> String {
    ContentDigest::of_bytes(instruction.record.written()).to_string()
}

/// Returns the tags of an instruction and of its compiled module.
pub(super) fn tags_of_instruction(instruction: &Instruction) -> [String; 2] {
    [tag_of_instruction(instruction), instruction.digest.to_string()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_holds_for_the_tag_that_it_names() {
        let tags = ["a".to_owned()];
        let one_of = |tag: &str| Precondition::OneOf(vec!["x".to_owned(), tag.to_owned()]);
        for (condition, with_content, without) in [
            (Precondition::None, true, true),
            (Precondition::Absent, false, true),
            (Precondition::Present, true, false),
            (one_of("a"), true, false),
            (one_of("b"), false, false),
        ] {
            assert_eq!(condition.check(Some(&tags)).is_ok(), with_content, "{condition:?}");
            assert_eq!(condition.check(None).is_ok(), without, "{condition:?}");
        }
    }
}
