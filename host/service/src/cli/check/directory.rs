//! Checks a directory as the service reads it: scripts, modules and lists, including linked ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tollgate_compiler::{CompileOptions, compile};
use tollgate_engine::sandbox::manifest_of;
use tollgate_model::instruction::RuleContent;
use tollgate_model::instruction::ignored::IgnoredFiles;

use super::{CheckContext, CheckCounts, check_module, check_script_text};
use crate::cli::say;
use crate::intake::{RuleFile, Survey, survey};

/// The reason why a file is ignored.
const NAMES: &str =
    "it looks like a rule or list; rules are `*.ws` and `*.wasm`, lists are `lists/*.txt` and `lists/*.csv`";

/// Checks every file of a directory. A list used by a script must be in `named_lists` or in this directory.
pub(super) fn check(
    directory: &Path,
    named_lists: Option<&BTreeSet<String>>,
    known: &CheckContext<'_>,
) -> CheckCounts {
    let shown = directory.display();
    let Survey { tree, counts, directory: real } = match survey(directory) {
        Ok(survey) => survey,
        Err(error) => {
            say(&format!("error: cannot read {shown}: {error}"));
            return CheckCounts { n_files: 1, n_bad: 1 };
        }
    };
    let own_lists = tree.lists.iter().map(|list| list.name.clone());
    let all_lists: BTreeSet<String> = own_lists.chain(named_lists.into_iter().flatten().cloned()).collect();
    // Lists may also come over the API, so missing lists are reported only if some lists are given here.
    let named_lists = (!all_lists.is_empty() || named_lists.is_some()).then_some(&all_lists);
    let known = CheckContext { options: CompileOptions { named_lists, ..known.options }, ..*known };
    let mut names = BTreeMap::new();
    let mut tally = CheckCounts { n_files: counts.n_lists, n_bad: 0 };
    for file in &tree.rules {
        let Ok(content) = &file.content else { continue };
        let path = directory.join(&file.path).display().to_string();
        let is_good = match content {
            RuleContent::Script(text) => check_script_text(&path, text, &known),
            RuleContent::Module(bytes) => check_module(&path, bytes, &known),
        };
        let is_taken = is_good && is_name_taken(&path, file, &mut names);
        tally.n_files += 1;
        tally.n_bad += usize::from(!is_good || is_taken);
    }
    for (path, why) in tree.refusals() {
        say(&format!("error: {}: {why}", directory.join(path).display()));
        tally.n_files += usize::from(tree.lists.iter().all(|list| list.path != path));
        tally.n_bad += 1;
    }
    if let Some(ignored) = &tree.ignored {
        say_what_is_ignored(directory, ignored);
    }
    say(&format!("{}: {counts}", real.display()));
    tally
}

/// Names the files that look like rules or lists and are not read.
fn say_what_is_ignored(directory: &Path, ignored: &IgnoredFiles) {
    for path in ignored.named() {
        say(&format!("ignored: {}: {NAMES}", directory.join(path).display()));
    }
    if ignored.n_unnamed() > 0 {
        say(&format!("ignored: {} more files", ignored.n_unnamed()));
    }
}

/// Returns whether an earlier file uses the same rule name, which the service would refuse.
fn is_name_taken(shown: &str, file: &RuleFile, names: &mut BTreeMap<String, String>) -> bool {
    let mut is_taken = false;
    for name in names_in(file) {
        if let Some(first) = names.get(&name) {
            say(&format!(
                "error: {shown}: the rule `{name}` is already defined in {first}, which keeps the name"
            ));
            is_taken = true;
        } else {
            names.insert(name, shown.to_owned());
        }
    }
    is_taken
}

fn names_in(file: &RuleFile) -> Vec<String> {
    match &file.content {
        Ok(RuleContent::Script(text)) => compile(text, &CompileOptions::default())
            .rule
            .map(|rule| rule.entry.name.clone())
            .into_iter()
            .collect(),
        Ok(RuleContent::Module(bytes)) => match manifest_of(bytes) {
            Ok(Some(manifest)) => manifest.rules.into_iter().map(|rule| rule.name).collect(),
            _ => Vec::new(),
        },
        Err(_) => Vec::new(),
    }
}
