//! `tollgate check`: compiles scripts and prints their diagnostics, and lists every admission check that a module
//! fails. Directories are traversed in the same way as the rules directory of the service.

mod directory;
mod stored;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate_model::instruction::Grant;

use tollgate_compiler::emit::{EmittedModule, emit};
use tollgate_compiler::{Compilation, CompileOptions, compile, render};
use tollgate_engine::sandbox::{AdmissionFinding, CheckedModule};
use tollgate_guest_abi::{Cost, Manifest};
use tollgate_model::calendar::{ZoneData, unknown_zone};
use tollgate_model::named_list::format::ContentPointer;

use crate::cli::{from_watch, say};
use crate::config::{load_dotenv, process_environment, zone_data_dir};
use crate::intake::MANIFEST_CHECK;
use crate::telemetry::logs::ErrorChain;

use stored::StoredTransactions;

/// Returns the exit code: 1 if a script does not compile, a module is not admitted, the directory of lists is unreadable,
/// or there is nothing to check.
///
/// With `is_from_watch`, the scripts are rules of Watch, and their meaning in this service is printed too.
pub(super) fn check(
    lists: Option<&Path>,
    stored: Option<&Path>,
    is_from_watch: bool,
    files: &[PathBuf],
) -> u8 {
    let named_lists = match lists.map(names_in).transpose() {
        Ok(names) => names,
        Err(error) => {
            say(&format!("error: cannot read the directory of lists: {error}"));
            return 1;
        }
    };
    let zones = match zones() {
        Ok(zones) => zones,
        Err(error) => {
            say(&format!("error: {error}"));
            return 1;
        }
    };
    say(&format!("time zone data {}", zones.describe()));
    let stored = match stored.map(|directory| StoredTransactions::open(directory, &zones)).transpose() {
        Ok(stored) => stored,
        Err(error) => {
            say(&format!("error: cannot read the stored transactions: {}", ErrorChain(&error)));
            return 1;
        }
    };
    let options = CompileOptions { named_lists: named_lists.as_ref(), zones: Some(zones.names()) };
    let known = CheckContext { options, zones: &zones, stored: stored.as_ref(), is_from_watch };
    let (mut n_bad, mut n_files) = (0, 0);
    for file in files {
        let CheckCounts { n_files: n, n_bad: bad } = if file.is_dir() {
            directory::check(file, named_lists.as_ref(), &known)
        } else {
            CheckCounts { n_files: 1, n_bad: usize::from(!check_file(file, &known)) }
        };
        n_files += n;
        n_bad += bad;
    }
    if let Some(total) = known.stored.and_then(StoredTransactions::total) {
        say(&total);
    }
    let are = plural(files, n_files);
    if n_files == 0 {
        say(
            "error: nothing to check: there is no rule (`*.ws`, `*.wasm`) and no list (`lists/*.txt`, `lists/*.csv`)",
        );
        return 1;
    }
    if n_bad == 0 {
        say(&format!("{n_files} {are} without errors"));
        0
    } else {
        say(&format!("{n_bad} of {n_files} {are} with errors"));
        1
    }
}

/// Number of checked files, and of those that would be refused.
#[derive(Default)]
struct CheckCounts {
    n_files: usize,
    n_bad: usize,
}

/// Returns the names of the lists in a directory, taken from the file names.
fn names_in(directory: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "txt" || extension == "csv") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    Ok(names)
}

fn plural(files: &[PathBuf], n_files: usize) -> &'static str {
    if files.iter().any(|file| file.is_dir()) {
        return if n_files == 1 { "file" } else { "files" };
    }
    match (files.iter().any(|file| is_module(file)), n_files) {
        (false, 1) => "script",
        (false, _) => "scripts",
        (true, 1) => "module",
        (true, _) => "files",
    }
}

fn is_module(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "wasm")
}

struct CheckContext<'a> {
    options: CompileOptions<'a>,
    zones: &'a ZoneData,
    /// Transactions against which costs are estimated.
    stored: Option<&'a StoredTransactions>,
    is_from_watch: bool,
}

/// Loads the zone data that a service with these settings would use.
fn zones() -> anyhow::Result<Arc<ZoneData>> {
    load_dotenv()?;
    let directory = zone_data_dir(process_environment)?;
    Ok(ZoneData::of_directory(directory.as_deref())?)
}

fn check_file(file: &Path, known: &CheckContext<'_>) -> bool {
    if is_module(file) { check_module_file(file, known) } else { check_script(file, known) }
}

/// Returns whether the module would be admitted.
fn check_module_file(file: &Path, known: &CheckContext<'_>) -> bool {
    let shown = file.display().to_string();
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            say(&format!("error: cannot read {shown}: {error}"));
            return false;
        }
    };
    check_module(&shown, &bytes, known)
}

fn check_module(shown: &str, bytes: &[u8], known: &CheckContext<'_>) -> bool {
    if is_pointer(shown, bytes) {
        return false;
    }
    match CheckedModule::check(bytes, Grant::default()) {
        Ok(upload) => match unknown_zone(&upload.manifest.needs, known.zones) {
            None => {
                describe(shown, &upload.manifest, known);
                true
            }
            Some(unknown) => {
                say(&format!("error[{MANIFEST_CHECK}]: {shown}: {unknown}"));
                false
            }
        },
        Err(refusal) => {
            for AdmissionFinding { check, offset, message } in &refusal.findings {
                let place = offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default();
                say(&format!("error[{check}]: {shown}{place}: {message}"));
            }
            false
        }
    }
}

/// Reports a placeholder for content that was not fetched; returns whether the file is one.
fn is_pointer(shown: &str, content: &[u8]) -> bool {
    let pointer = ContentPointer::of(content);
    if let Some(pointer) = pointer {
        say(&format!("error: {shown} is not a rule: {pointer}"));
    }
    pointer.is_some()
}

/// Prints the description of a module and its worst case, which is its granted limit.
fn describe(shown: &str, manifest: &Manifest, known: &CheckContext<'_>) {
    say_what_it_is(shown, manifest);
    say(&format!("  needs {}", printable(&serde_json::to_string(&manifest.needs).unwrap_or_default())));
    say_what_it_costs(manifest, known);
}

fn say_what_it_is(shown: &str, manifest: &Manifest) {
    for rule in &manifest.rules {
        say(&format!("{shown}: rule `{}`, verdict {}", rule.name, rule.verdict));
    }
}

fn say_what_it_costs(manifest: &Manifest, known: &CheckContext<'_>) {
    let Cost { instructions, host_calls, history_lookups } = manifest.cost;
    say(&format!(
        "  worst case: {instructions} instructions, {host_calls} host calls, {history_lookups} history queries"
    ));
    if let Some(stored) = known.stored {
        say(&stored.estimate(manifest));
    }
}

/// Returns untrusted text in a form safe for terminals.
fn printable(text: &str) -> String {
    let shown = |character: char| match character {
        '"' | '\'' | '\\' => character.to_string(),
        _ => character.escape_debug().to_string(),
    };
    text.chars().map(shown).collect()
}

/// Returns whether the script compiles to a module.
fn check_script(file: &Path, known: &CheckContext<'_>) -> bool {
    let shown = file.display().to_string();
    let script = match fs::read_to_string(file) {
        Ok(script) => script,
        Err(error) => {
            say(&format!("error: cannot read {shown}: {error}"));
            return false;
        }
    };
    check_script_text(&shown, &script, known)
}

fn check_script_text(shown: &str, script: &str, known: &CheckContext<'_>) -> bool {
    if is_pointer(shown, script.as_bytes()) {
        return false;
    }
    let Compilation { rule, diagnostics } = compile(script, &known.options);
    if !diagnostics.is_empty() {
        say(&render(script, shown, &diagnostics, io::stderr().is_terminal()));
    }
    let Some(rule) = rule else { return false };
    match emit(std::slice::from_ref(&rule)) {
        Ok(EmittedModule { manifest, .. }) => {
            say_what_it_is(shown, &manifest);
            say_what_it_costs(&manifest, known);
            if known.is_from_watch {
                from_watch::tell(script, shown, &known.options);
            }
            true
        }
        Err(error) => {
            say(&format!("error: {shown}: {error}"));
            false
        }
    }
}
