//! The reason of an assessment, and the bound of what an assessment says about its rules.

use super::{FailedRule, NO_RULE_MATCHED, Triggered};

/// The number of matched rules, and of failed ones, that an assessment names. Of the others it has the ids.
const NAMED_MAX: usize = 16;

/// Removes the names and reasons of all rules but the first [`NAMED_MAX`] of each list.
pub(super) fn bound(triggered: &mut [Triggered], failures: &mut [FailedRule]) {
    for rule in triggered.iter_mut().skip(NAMED_MAX) {
        (rule.name, rule.reason) = (None, None);
    }
    for rule in failures.iter_mut().skip(NAMED_MAX) {
        rule.name = None;
    }
}

/// Joins the reasons of the matched rules and a note for each failed one. The end is the number of rules without a name.
pub(super) fn join(triggered: &[Triggered], failures: &[FailedRule]) -> String {
    let matched = triggered.iter().filter_map(|rule| rule.reason.clone());
    let failed = failures.iter().filter_map(|rule| rule.name.as_ref());
    let failed = failed.map(|name| format!("Rule `{name}` could not be evaluated"));
    let reasons: Vec<String> = matched.chain(failed).collect();
    if reasons.is_empty() {
        return NO_RULE_MATCHED.to_owned();
    }
    reasons.join("; ") + &end(triggered, failures)
}

/// Adds a note that is not of a rule to the reason of these rules.
pub(super) fn add(reason: &str, note: &str, triggered: &[Triggered], failures: &[FailedRule]) -> String {
    if triggered.is_empty() && failures.is_empty() {
        return note.to_owned();
    }
    let end = end(triggered, failures);
    let named = reason.strip_suffix(&end).unwrap_or(reason);
    format!("{named}; {note}{end}")
}

/// Returns how many rules the reason leaves out, or nothing if it leaves out none.
fn end(triggered: &[Triggered], failures: &[FailedRule]) -> String {
    let n_matched = triggered.iter().filter(|rule| rule.name.is_none()).count();
    let n_failed = failures.iter().filter(|rule| rule.name.is_none()).count();
    match n_matched + n_failed {
        0 => String::new(),
        n_more => format!("; and {n_more} more"),
    }
}
