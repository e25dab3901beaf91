//! Rule files for the services that benchmarks start: the rules that `tollgate bench` measures.

use tollgate_load::corpus::{WATCHED, usual_scripts, watched};

/// Returns `n_rules` rules and the list that they search, with their paths below the rules directory.
#[must_use]
pub fn rule_files(n_rules: usize) -> Vec<(String, String)> {
    let rules = usual_scripts(n_rules).into_iter().map(|script| (script.path, script.text));
    rules.chain([(format!("lists/{WATCHED}.txt"), watched())]).collect()
}
