//! The JSON format of a policy file; unknown fields are errors.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use tollgate_guest_abi::limits::{
    FUEL_GRANTED_MAX, FUEL_PER_RUN, HOST_CALLS_MAX, MEMORY_PAGES_GRANTED_MAX, SUSTAINED_FUEL,
    UNTRUSTED_HISTORY_BYTES,
};
use tollgate_guest_abi::{AggregateFunction, FieldPath, Verdict, Window};

use super::changes::ChangeGrant;
use super::denial::PREVIOUS_TRANSACTION;
use super::{GrantedNames, OwnerProfile, RuleGrant, SourceGrant, SourceKind};
use tollgate_model::instruction::{Grant, PAGE_BYTES};

const BYTES_MAX: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    grants: Vec<GrantEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantEntry {
    source: SourceKind,
    #[serde(default)]
    path: String,
    rules: Option<u32>,
    #[serde(default)]
    profile: OwnerProfile,
    fields: Option<Vec<String>>,
    lists: Option<Vec<String>>,
    history: Option<Vec<String>>,
    longest_window: Option<Window>,
    history_lookups: Option<u32>,
    severest_verdict: Option<Verdict>,
    fuel: Option<u64>,
    host_calls: Option<u32>,
    memory_pages: Option<u64>,
    scans: Option<u64>,
    history_bytes: Option<u64>,
    change: Option<Vec<SourceKind>>,
    set_lists: Option<Vec<String>>,
    push: Option<bool>,
}

pub(super) fn text_of(path: &Path) -> io::Result<String> {
    let n_bytes = fs::metadata(path)?.len();
    if n_bytes > BYTES_MAX {
        let message = format!("it has {n_bytes} bytes, at most {BYTES_MAX} are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    fs::read_to_string(path)
}

pub(super) fn parse(text: &str) -> Result<Vec<SourceGrant>, String> {
    let file: PolicyFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let numbered = file.grants.into_iter().enumerate();
    numbered.map(|(i, entry)| entry.read().map_err(|reason| format!("grant {}: {reason}", i + 1))).collect()
}

impl GrantEntry {
    fn read(self) -> Result<SourceGrant, String> {
        if !self.path.is_empty() && !matches!(self.source, SourceKind::File | SourceKind::Git) {
            return Err("`path` is allowed only for the sources `file` and `git`".to_owned());
        }
        let changes = self.changes()?;
        let default = Grant::default();
        let budget = Grant {
            fuel: within("fuel", self.fuel.unwrap_or(default.fuel), FUEL_GRANTED_MAX)?,
            host_calls: within("host_calls", self.host_calls.unwrap_or(default.host_calls), HOST_CALLS_MAX)?,
            memory_bytes: match self.memory_pages {
                Some(n_pages) => within("memory_pages", n_pages, MEMORY_PAGES_GRANTED_MAX)? * PAGE_BYTES,
                None => default.memory_bytes,
            },
        };
        let is_untrusted = self.profile == OwnerProfile::Untrusted;
        let grant = RuleGrant {
            fields: names(self.fields, is_field, "field")?.each(canonical),
            lists: names(self.lists, |name| !name.contains('*'), "list")?,
            history: names(self.history, is_function, "history function")?,
            longest_window: self.longest_window,
            history_lookups: self.history_lookups,
            severest_verdict: self.severest_verdict.map(Verdict::severity),
            budget,
            is_budget_set: self.fuel.is_some() || self.host_calls.is_some(),
            scans: self.scans.unwrap_or(if is_untrusted {
                SUSTAINED_FUEL
            } else {
                FUEL_PER_RUN.max(budget.fuel)
            }),
            history_bytes: self.history_bytes.or(is_untrusted.then_some(UNTRUSTED_HISTORY_BYTES)),
        };
        let (kind, path, profile) = (self.source, self.path, self.profile);
        Ok(SourceGrant { kind, path, rules_max: self.rules, profile, grant, changes })
    }

    fn changes(&self) -> Result<ChangeGrant, String> {
        let is_any = self.change.is_some() || self.set_lists.is_some() || self.push.is_some();
        if is_any && self.source != SourceKind::Api {
            return Err("`change`, `set_lists` and `push` are allowed only for the source `api`".to_owned());
        }
        let lists = self.set_lists.clone().unwrap_or_default();
        let is_pattern =
            |name: &str| !name.is_empty() && !name.strip_suffix('*').unwrap_or(name).contains('*');
        Ok(ChangeGrant {
            kinds: self.change.clone().unwrap_or_default(),
            lists: names(Some(lists), is_pattern, "list")?,
            push: self.push.unwrap_or(false),
        })
    }
}

fn within<T: PartialOrd + std::fmt::Display>(what: &str, given: T, most: T) -> Result<T, String> {
    if given <= most { Ok(given) } else { Err(format!("`{what}` is {given}, at most {most} can be granted")) }
}

fn names(
    given: Option<Vec<String>>,
    is_known: impl Fn(&str) -> bool,
    what: &str,
) -> Result<GrantedNames, String> {
    let Some(given) = given else { return Ok(GrantedNames::All) };
    match given.iter().find(|name| name.as_str() != "*" && !is_known(name)) {
        Some(unknown) => Err(format!("there is no {what} `{unknown}`")),
        None => Ok(GrantedNames::These(given)),
    }
}

/// Returns the spelling that manifests use: keys that are not identifiers are quoted.
fn canonical(name: &str) -> String {
    match name.strip_suffix(".*") {
        Some(start) => format!("{}.*", FieldPath::parse(start)),
        None if name == "*" => name.to_owned(),
        None => FieldPath::parse(name).to_string(),
    }
}

/// Whether a name is a known field, or `metadata.*`. A mistyped field would silently grant nothing, so it is rejected.
fn is_field(name: &str) -> bool {
    let path = FieldPath::parse(name.strip_suffix(".*").unwrap_or(name));
    let is_star_of_metadata = !name.ends_with('*') || (name.ends_with(".*") && path.root() == "metadata");
    is_star_of_metadata
        && name.starts_with(path.root())
        && FieldPath::names().any(|known| known == path.root())
}

fn is_function(name: &str) -> bool {
    name == PREVIOUS_TRANSACTION || AggregateFunction::ALL.iter().any(|function| function.as_str() == name)
}
