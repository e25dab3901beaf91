//! `tollgate check`: compiles scripts and prints their diagnostics, and lists every admission check that a module
//! fails. Directories are traversed in the same way as the rules directory of the service.

mod directory;
mod report;
mod stored;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use tollgate_compiler::emit::{EmittedModule, emit};
use tollgate_compiler::{Compilation, CompileOptions, compile};
use tollgate_engine::policy::{Denial, Policy, named_lists};
use tollgate_engine::sandbox::{AdmissionFinding, CheckedModule};
use tollgate_guest_abi::limits::MODULE_BYTES_MAX;
use tollgate_guest_abi::{Cost, Manifest};
use tollgate_model::calendar::{ZoneData, unknown_zone};
use tollgate_model::instruction::InstructionSource;
use tollgate_model::instruction::ignored::holds_rule;
use tollgate_model::named_list::format::ContentPointer;
use tollgate_model::named_list::oddities::{self, ListWarning};

use crate::cli::from_watch;
use tollgate_rules::intake::{ListFile, MANIFEST_CHECK, UnreadableFile};
use tollgate_telemetry::config::{load_dotenv, process_environment, read_status_words, words, zone_data_dir};
use tollgate_telemetry::logs::ErrorChain;

use report::{CheckFinding, CheckFormat, CheckReport};
use stored::StoredTransactions;

/// The argument that stands for standard input, and its name in findings.
const STDIN: &str = "-";
const STDIN_SHOWN: &str = "<stdin>";

/// Arguments of `tollgate check`.
#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// Warn about named lists that are not in this directory (`<name>.txt`, `<name>.csv`)
    #[arg(long, value_name = "DIR")]
    lists: Option<PathBuf>,
    /// Data directory, to estimate what each rule would cost with the transactions stored there; a running service may
    /// have it open
    #[arg(long, value_name = "DIR")]
    stored: Option<PathBuf>,
    /// Read the scripts as rules of Watch: mark differences in meaning, and print each rule that must be rewritten to
    /// standard output; see docs/from-watch.md
    #[arg(long, conflicts_with_all = ["json", "github"])]
    from_watch: bool,
    /// Check each rule against this policy (SERVICE_RULE_POLICY), as a rule from `--source`
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The source for which `--policy` is asked
    #[arg(long, value_name = "SOURCE", default_value = "file", requires = "policy")]
    source: CheckedSource,
    /// Exit code 1 also for warnings
    #[arg(long)]
    deny_warnings: bool,
    /// Print one JSON object to standard output, and no text
    #[arg(long, conflicts_with = "github")]
    json: bool,
    /// Print annotations of GitHub Actions to standard output, and no text
    #[arg(long)]
    github: bool,
    /// Rule scripts, modules, lists, and directories, which are read as the service reads its rules directory; `-` is a
    /// script or module on standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// The source of rules that a policy grants something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckedSource {
    File,
    Git,
    Api,
    Upload,
}

impl CheckedSource {
    fn at(self, path: &str) -> InstructionSource {
        match self {
            Self::File => InstructionSource::File { path: path.to_owned() },
            Self::Git => InstructionSource::Git { path: path.to_owned(), commit: String::new() },
            Self::Api => InstructionSource::Api,
            Self::Upload => InstructionSource::Upload,
        }
    }
}

/// Returns the exit code: 1 if a file is refused, if two files have one name, if there is nothing to check or a file named
/// by an option cannot be read, and with `--deny-warnings` if there is a warning.
pub(super) fn check(asked: &CheckArguments) -> u8 {
    let format = match (asked.json, asked.github) {
        (true, _) => CheckFormat::Json,
        (false, true) => CheckFormat::GitHub,
        (false, false) => CheckFormat::Text,
    };
    let report = CheckReport::new(format);
    let CheckCounts { n_files, n_bad } = check_all(asked, &report).unwrap_or_else(|error| {
        report.add(CheckFinding::error(None, error));
        CheckCounts::default()
    });
    report.finish(n_files, n_bad);
    let has_failed = report.n_errors() > 0 || asked.deny_warnings && report.n_warnings() > 0;
    u8::from(has_failed)
}

/// Checks every file. The error is for people: nothing could be checked.
fn check_all(asked: &CheckArguments, report: &CheckReport) -> Result<CheckCounts, String> {
    let lists = asked.lists.as_deref().map(names_in).transpose();
    let lists = lists.map_err(|error| format!("cannot read the directory of lists: {error}"))?;
    let zones = zones().map_err(|error| error.to_string())?;
    report.say(&format!("time zone data {}", zones.describe()));
    let policy = asked.policy.as_deref().map(Policy::read).transpose();
    let policy = policy.map_err(|error| ErrorChain(&error).to_string())?;
    let words = words(process_environment).map_err(|error| error.to_string())?;
    let status_words = read_status_words(words.status_words.as_deref());
    let status_words = status_words.map_err(|error| ErrorChain(&error).to_string())?;
    let stored = asked.stored.as_deref();
    let stored = stored.map(|directory| StoredTransactions::open(directory, &zones, status_words));
    let stored = stored.transpose();
    let stored =
        stored.map_err(|error| format!("cannot read the stored transactions: {}", ErrorChain(&error)))?;
    let options = CompileOptions {
        named_lists: lists.as_ref(),
        zones: Some(zones.names()),
        currencies: Some(&words.currencies),
    };
    let known = CheckContext {
        options,
        zones: &zones,
        stored: stored.as_ref(),
        is_from_watch: asked.from_watch,
        policy: policy.as_ref().map(|policy| (policy, asked.source)),
        report,
    };
    let mut all = CheckCounts::default();
    for file in &asked.files {
        let counts = if file.is_dir() {
            directory::check(file, lists.as_ref(), &known)
        } else {
            CheckCounts { n_files: 1, n_bad: usize::from(!check_file(file, &known)) }
        };
        all.n_files += counts.n_files;
        all.n_bad += counts.n_bad;
    }
    if let Some(total) = known.stored.and_then(StoredTransactions::total) {
        report.say(&total);
    }
    let (CheckCounts { n_files, n_bad }, are) = (&all, plural(&asked.files, all.n_files));
    match n_bad {
        0 => report.say(&format!("{n_files} {are} without errors")),
        _ => report.say(&format!("{n_bad} of {n_files} {are} with errors")),
    }
    Ok(all)
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
    if files.iter().any(|file| file.is_dir() || is_list(file)) {
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

fn is_list(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "txt" || extension == "csv")
}

struct CheckContext<'a> {
    options: CompileOptions<'a>,
    zones: &'a ZoneData,
    /// Transactions against which costs are estimated.
    stored: Option<&'a StoredTransactions>,
    is_from_watch: bool,
    policy: Option<(&'a Policy, CheckedSource)>,
    report: &'a CheckReport,
}

/// Loads the zone data that a service with these settings would use.
fn zones() -> anyhow::Result<Arc<ZoneData>> {
    load_dotenv()?;
    let directory = zone_data_dir(process_environment)?;
    Ok(ZoneData::of_directory(directory.as_deref())?)
}

/// Returns whether a file would be in force.
fn check_file(file: &Path, known: &CheckContext<'_>) -> bool {
    let is_stdin = file == Path::new(STDIN);
    let shown = if is_stdin { STDIN_SHOWN.to_owned() } else { file.display().to_string() };
    let bytes = if is_stdin { read_stdin() } else { fs::read(file) };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(error) => {
            known.report.add(CheckFinding::error(Some(&shown), format!("cannot read it: {error}")));
            return false;
        }
    };
    if is_list(file) && !holds_rule(&shown, &bytes) {
        let text = String::from_utf8(bytes).map_err(|_| UnreadableFile::NotUtf8);
        return check_list(&shown, &ListFile::new(shown.clone(), text), known);
    }
    if is_module(file) || is_stdin && bytes.starts_with(b"\0asm") {
        return check_module(&shown, &shown, &bytes, known);
    }
    if !is_stdin && file.extension().is_none_or(|extension| extension != "ws") {
        let message = "the service reads a script only from a file `*.ws`";
        known.report.add(CheckFinding::warning(Some(&shown), message));
    }
    match String::from_utf8(bytes) {
        Ok(script) => check_script(&shown, &shown, &script, known),
        Err(_) => {
            let message = UnreadableFile::NotUtf8.to_string();
            known.report.add(CheckFinding::error(Some(&shown), message));
            false
        }
    }
}

/// Reads at most one byte more than a module may have.
fn read_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MODULE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns whether the list would be in force.
fn check_list(shown: &str, list: &ListFile, known: &CheckContext<'_>) -> bool {
    for ListWarning { line, message } in &list.warnings {
        known.report.add(CheckFinding::warning(Some(shown), message).at_line(Some(*line)));
    }
    let error = match &list.text {
        Ok(text) => {
            // The lines of a table are not those of its list.
            let odd = if list.path.ends_with(".txt") { oddities::of_characters(text) } else { Vec::new() };
            for ListWarning { line, message } in odd {
                known.report.add(CheckFinding::warning(Some(shown), message).at_line(Some(line)));
            }
            return true;
        }
        Err(error) => error,
    };
    let line = match error {
        UnreadableFile::NoList(why) => why.line(),
        _ => None,
    };
    known.report.add(CheckFinding::error(Some(shown), error.to_string()).at_line(line));
    false
}

/// Returns whether the module would be admitted. `path` is the path below the source of rules.
fn check_module(shown: &str, path: &str, bytes: &[u8], known: &CheckContext<'_>) -> bool {
    if is_pointer(shown, bytes, known) {
        return false;
    }
    let granted = known.policy.map(|(policy, source)| policy.grant_for(&source.at(path)));
    let grant = match granted.transpose() {
        Ok(granted) => granted.map(|granted| granted.budget()).unwrap_or_default(),
        Err(denial) => {
            known.report.add(CheckFinding::error(Some(shown), denial.to_string()).with_code(POLICY));
            return false;
        }
    };
    match CheckedModule::check(bytes, grant) {
        Ok(upload) => {
            if let Some(unknown) = unknown_zone(&upload.manifest.needs, known.zones) {
                let finding = CheckFinding::error(Some(shown), unknown.to_string());
                known.report.add(finding.with_code(MANIFEST_CHECK));
                return false;
            }
            warn_of_unknown_lists(shown, &upload.manifest, known);
            say_what_it_is(shown, &upload.manifest, known.report);
            let needs = serde_json::to_string(&upload.manifest.needs).unwrap_or_default();
            known.report.say(&format!("  needs {}", printable(&needs)));
            say_what_it_costs(&upload.manifest, known);
            is_allowed(shown, path, &upload.manifest, known)
        }
        Err(refusal) => {
            for AdmissionFinding { check, offset, message } in &refusal.findings {
                let location = offset.map(|offset| format!("at byte {offset}: ")).unwrap_or_default();
                let finding = CheckFinding::error(Some(shown), format!("{location}{message}"));
                known.report.add(finding.with_code(check.to_string()));
            }
            false
        }
    }
}

/// Code of findings of the policy.
const POLICY: &str = "not_granted";

/// Returns whether the policy grants what a rule needs, and no earlier file has a rule of this name.
fn is_allowed(shown: &str, path: &str, manifest: &Manifest, known: &CheckContext<'_>) -> bool {
    let granted = |(policy, source): (&Policy, CheckedSource)| -> Result<(), Denial> {
        let source = source.at(path);
        policy.grant_for(&source)?.check(manifest)?;
        policy.check_count(&source, known.report.sources().iter())?;
        known.report.add_source(source);
        Ok(())
    };
    let is_granted = match known.policy.map(granted) {
        None | Some(Ok(())) => true,
        Some(Err(denial)) => {
            known.report.add(CheckFinding::error(Some(shown), denial.to_string()).with_code(POLICY));
            false
        }
    };
    known.report.add_rules(shown, manifest) && is_granted
}

/// Warns of lists that a module names and that nobody knows; the compiler does so for a script.
fn warn_of_unknown_lists(shown: &str, manifest: &Manifest, known: &CheckContext<'_>) {
    let Some(lists) = known.options.named_lists else { return };
    for name in named_lists(&manifest.needs).into_iter().filter(|name| !lists.contains(*name)) {
        let message = format!("there is no list `${name}`; the rule fails until it is set");
        known.report.add(CheckFinding::warning(Some(shown), message));
    }
}

/// Reports a placeholder for content that was not fetched; returns whether the file is one.
fn is_pointer(shown: &str, content: &[u8], known: &CheckContext<'_>) -> bool {
    let pointer = ContentPointer::parse(content);
    if let Some(pointer) = pointer {
        known.report.add(CheckFinding::error(Some(shown), format!("it is not a rule: {pointer}")));
    }
    pointer.is_some()
}

fn say_what_it_is(shown: &str, manifest: &Manifest, report: &CheckReport) {
    for rule in &manifest.rules {
        report.say(&format!("{shown}: rule `{}`, verdict {}", rule.name, rule.verdict));
    }
}

/// Prints the worst case of a rule, which is the granted limit of a module.
fn say_what_it_costs(manifest: &Manifest, known: &CheckContext<'_>) {
    let Cost { instructions, host_calls, history_lookups } = manifest.cost;
    known.report.say(&format!(
        "  worst case: {instructions} instructions, {host_calls} host calls, {history_lookups} history queries"
    ));
    if let Some(stored) = known.stored {
        known.report.say(&stored.estimate(manifest));
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

/// Returns whether the script would be in force. `path` is the path below the source of rules.
fn check_script(shown: &str, path: &str, script: &str, known: &CheckContext<'_>) -> bool {
    if is_pointer(shown, script.as_bytes(), known) {
        return false;
    }
    let Compilation { rule, diagnostics } = compile(script, &known.options);
    known.report.add_diagnostics(shown, script, &diagnostics);
    let Some(rule) = rule else { return false };
    match emit(std::slice::from_ref(&rule)) {
        Ok(EmittedModule { manifest, .. }) => {
            say_what_it_is(shown, &manifest, known.report);
            say_what_it_costs(&manifest, known);
            if known.is_from_watch {
                from_watch::tell(script, shown, &known.options);
            }
            is_allowed(shown, path, &manifest, known)
        }
        Err(error) => {
            known.report.add(CheckFinding::error(Some(shown), error.to_string()));
            false
        }
    }
}
