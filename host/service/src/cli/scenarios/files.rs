//! Finds the rules and scenarios of a directory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tollgate_compiler::{CompileOptions, compile};
use tollgate_engine::registry::{ListInForce, Lists};
use tollgate_engine::sandbox::manifest_of;
use tollgate_model::instruction::{InstructionSource, RuleContent};

use tollgate_rules::intake::{RuleFile, Survey, survey};

/// Maximum depth of folders.
const DEPTH_MAX: usize = 16;
/// Largest scenario, in bytes.
const SCENARIO_BYTES_MAX: u64 = 16 << 20;
/// Name of the scenario of a module that is built from the folder.
const CASES: &str = "cases.json";

/// Rules, lists and scenarios of a directory.
#[derive(Debug)]
pub(super) struct ScenarioFiles {
    /// Scenarios by path, or the reason why one cannot be read.
    pub(super) scenarios: BTreeMap<String, Result<Scenario, String>>,
    /// Rule files by the name of their rule.
    pub(super) rules: BTreeMap<String, RuleFile>,
    pub(super) lists: Lists,
}

/// The cases of one rule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) rule: String,
    pub(super) cases: Vec<ScenarioCase>,
}

/// A past, a payment, and what has to be answered.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioCase {
    pub(super) name: String,
    #[serde(default)]
    pub(super) history: Vec<Box<RawValue>>,
    pub(super) transaction: Box<RawValue>,
    pub(super) expect: ExpectedAnswer,
}

/// The expected answer; without a reason, any is right.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedAnswer {
    pub(super) verdict: String,
    pub(super) score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    pub(super) triggered: Vec<String>,
}

impl ScenarioFiles {
    pub(super) fn find(directory: &Path) -> io::Result<Self> {
        let Survey { tree, directory: root, .. } = survey(directory)?;
        let mut lists = Lists::default();
        for list in &tree.lists {
            if let Ok(text) = &list.text {
                let source = InstructionSource::File { path: list.path.clone() };
                lists.insert(&list.name, ListInForce::new(text, source));
            }
        }
        let mut scenarios = BTreeMap::new();
        find_below(&root, "", 0, &mut scenarios)?;
        let mut rules = BTreeMap::new();
        for file in tree.rules {
            if let Some(name) = name_of(&file) {
                rules.entry(name).or_insert(file);
            }
        }
        Ok(Self { scenarios, rules, lists })
    }

    /// Returns the number of rules without a scenario.
    pub(super) fn n_untested(&self) -> usize {
        let is_tested = |name: &str| self.scenarios.values().flatten().any(|scenario| scenario.rule == name);
        self.rules.keys().filter(|name| !is_tested(name)).count()
    }
}

fn find_below(
    folder: &Path,
    above: &str,
    depth: usize,
    found: &mut BTreeMap<String, Result<Scenario, String>>,
) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let (path, relative) = (entry.path(), format!("{above}{name}"));
        if name.starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            find_below(&path, &format!("{relative}/"), depth + 1, found)?;
        } else if is_scenario(&path, &name) {
            found.insert(relative, read(&path));
        }
    }
    Ok(())
}

fn is_scenario(path: &Path, name: &str) -> bool {
    let is_beside = |extension: &str| path.with_extension(extension).exists();
    name == CASES || name.ends_with(".json") && (is_beside("ws") || is_beside("wasm"))
}

fn read(path: &Path) -> Result<Scenario, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > SCENARIO_BYTES_MAX {
        return Err(format!("the scenario has {length} bytes, at most {SCENARIO_BYTES_MAX} are allowed"));
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let scenario: Scenario =
        serde_json::from_str(&text).map_err(|error| format!("the scenario cannot be read: {error}"))?;
    if scenario.cases.is_empty() { Err("the scenario has no case".to_owned()) } else { Ok(scenario) }
}

/// Returns the name of the rule in a file; of a script that does not compile, the name of the file.
fn name_of(file: &RuleFile) -> Option<String> {
    let stem = file.path.rsplit('/').next()?.rsplit_once('.')?.0.to_owned();
    let name = match file.content.as_ref().ok()? {
        RuleContent::Script(text) => {
            compile(text, &CompileOptions::default()).rule.map(|rule| rule.entry.name.clone())
        }
        RuleContent::Module(bytes) => {
            let manifest = manifest_of(bytes).ok().flatten();
            manifest.and_then(|manifest| Some(manifest.rules.first()?.name.clone()))
        }
    };
    Some(name.unwrap_or(stem))
}
