//! Lists that lose entries: an emptied list is held back, and a loss of more than half is logged or held back.

use tollgate_engine::registry::ListInForce;
use tollgate_model::named_list::text;

use tollgate_telemetry::config::ListsShrink;

/// Checks whether the new content of a list may replace the previous one.
///
/// # Errors
/// The reason and the remedy, for people.
pub(super) fn check(
    name: &str,
    before: &ListInForce,
    after: &ListInForce,
    shrink: ListsShrink,
) -> Result<(), String> {
    let (n_before, n_after) = (before.members.len(), after.members.len());
    let is_emptied = n_before > 0 && n_after == 0;
    if is_emptied && !text::is_empty_on_purpose(&after.text) {
        return Err(format!(
            "the list falls from {n_before} entries to none; a comment line `# empty on purpose` allows it, and so does \
             `POST /git/sync` with `force` for a file of the repository"
        ));
    }
    let is_halved = !is_emptied && n_after.saturating_mul(2) < n_before;
    if is_halved && shrink == ListsShrink::Hold && !text::is_shorter_on_purpose(&after.text) {
        return Err(format!(
            "the list falls from {n_before} entries to {n_after}, and SERVICE_LISTS_SHRINK is `hold`; a comment line \
             `# shorter on purpose` allows it, and so does `POST /git/sync` with `force` for a file of the repository"
        ));
    }
    if is_halved || is_emptied {
        tracing::warn!(
            list = name,
            before = n_before,
            after = n_after,
            "a list loses more than half of its entries"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::instruction::InstructionSource;

    #[test]
    fn a_list_that_loses_too_much_is_held_back() {
        use ListsShrink::{Hold, Warn};
        let list = |text: &str| ListInForce::new(text, InstructionSource::Api);
        for (before, after, shrink, is_let) in [
            ("a\nb\n", "", Warn, false),
            ("a\n", "# a\n", Warn, false),
            ("a\n", "# empty on purpose\n", Warn, true),
            ("a\n", "# Empty on purpose\n", Hold, true),
            ("", "", Hold, true),
            ("# none\n", "", Hold, true),
            ("a\nb\nc\n", "a\n", Warn, true),
            ("a\nb\nc\n", "a\n", Hold, false),
            ("a\nb\nc\n", "# shorter on purpose\na\n", Hold, true),
            ("a\nb\nc\n", "a\nb\n", Hold, true),
            ("a\nb\n", "a\n", Hold, true),
        ] {
            let checked = check("l", &list(before), &list(after), shrink);
            assert_eq!(checked.is_ok(), is_let, "{before:?} {after:?} {shrink:?}: {checked:?}");
        }
    }
}
