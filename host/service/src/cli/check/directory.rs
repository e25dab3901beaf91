//! Checks a directory as the service reads it: scripts, modules and lists, including linked ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tollgate_compiler::CompileOptions;
use tollgate_model::instruction::RuleContent;
use tollgate_model::instruction::ignored::IgnoredFiles;

use super::report::{CheckFinding, CheckReport};
use super::{CheckContext, CheckCounts, check_list, check_module, check_script};
use tollgate_rules::intake::{ListFile, Survey, survey};

/// The reason why a file is ignored.
const NAMES: &str =
    "it looks like a rule or list; rules are `*.ws` and `*.wasm`, lists are `lists/*.txt` and `lists/*.csv`";

/// Checks every file of a directory. A list used by a script must be in `named_lists` or in this directory.
pub(super) fn check(
    directory: &Path,
    named_lists: Option<&BTreeSet<String>>,
    known: &CheckContext<'_>,
) -> CheckCounts {
    let shown = directory.display().to_string();
    let Survey { tree, counts, directory: real } = match survey(directory) {
        Ok(survey) => survey,
        Err(error) => {
            known.report.add(CheckFinding::error(Some(&shown), format!("cannot read it: {error}")));
            return CheckCounts { n_files: 1, n_bad: 1 };
        }
    };
    let own_lists = tree.lists.iter().map(|list| list.name.clone());
    let all_lists: BTreeSet<String> = own_lists.chain(named_lists.into_iter().flatten().cloned()).collect();
    // Lists may also come over the API, so missing lists are reported only if some lists are given here.
    let named_lists = (!all_lists.is_empty() || named_lists.is_some()).then_some(&all_lists);
    let known = CheckContext { options: CompileOptions { named_lists, ..known.options }, ..*known };
    let mut tally = check_lists(directory, &tree.lists, &known);
    for file in &tree.rules {
        let path = directory.join(&file.path).display().to_string();
        let is_good = match &file.content {
            Ok(RuleContent::Script(text)) => check_script(&path, &file.path, text, &known),
            Ok(RuleContent::Module(bytes)) => check_module(&path, &file.path, bytes, &known),
            Err(error) => {
                known.report.add(CheckFinding::error(Some(&path), error.to_string()));
                false
            }
        };
        tally.n_files += 1;
        tally.n_bad += usize::from(!is_good);
    }
    for unreadable in &tree.unreadable {
        let path = directory.join(&unreadable.path).display().to_string();
        known.report.add(CheckFinding::error(Some(&path), unreadable.why.clone().unwrap_or_default()));
        tally.n_files += 1;
        tally.n_bad += 1;
    }
    if let Some(ignored) = &tree.ignored {
        warn_of_ignored(directory, ignored, known.report);
    }
    if tally.n_files == 0 {
        let message = "nothing to check: there is no rule (`*.ws`, `*.wasm`) and no list (`lists/*.txt`, `lists/*.csv`)";
        known.report.add(CheckFinding::error(Some(&shown), message));
    }
    known.report.say(&format!("{}: {counts}", real.display()));
    tally
}

fn check_lists(directory: &Path, lists: &[ListFile], known: &CheckContext<'_>) -> CheckCounts {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut tally = CheckCounts::default();
    for list in lists {
        let path = directory.join(&list.path).display().to_string();
        let mut is_good = check_list(&path, list, known);
        if let Some(first) = names.get(&*list.name) {
            let message =
                format!("the list `{}` is already defined in {first}, which keeps the name", list.name);
            known.report.add(CheckFinding::error(Some(&path), message));
            is_good = false;
        } else {
            names.insert(&list.name, &list.path);
        }
        tally.n_files += 1;
        tally.n_bad += usize::from(!is_good);
    }
    tally
}

/// Names the files that look like rules or lists and are not read.
fn warn_of_ignored(directory: &Path, ignored: &IgnoredFiles, report: &CheckReport) {
    for path in ignored.named() {
        let path = directory.join(path).display().to_string();
        report.add(CheckFinding::warning(Some(&path), format!("ignored: {NAMES}")));
    }
    if ignored.n_unnamed() > 0 {
        report.add(CheckFinding::warning(None, format!("{} more files are ignored", ignored.n_unnamed())));
    }
}
