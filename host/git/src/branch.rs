//! Branch names.

/// Returns whether a text is a valid branch name; stricter than Git.
#[must_use]
pub fn is_branch(name: &str) -> bool {
    let is_odd = |character: char| {
        character.is_control() || character.is_whitespace() || "~^:?*[\\\"'<>|".contains(character)
    };
    let is_part = |part: &str| !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with('.');
    name.len() <= 200
        && !name.contains(is_odd)
        && !name.contains("..")
        && !name.contains("@{")
        && name != "@"
        && name != "HEAD"
        && name.split('/').all(|part| is_part(part) && !part.ends_with(".lock"))
}
