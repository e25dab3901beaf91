//! A hostile module and its expected outcome.

use std::fmt;
use std::path::Path;

use serde_json::{Value, json};
use tollgate_guest_abi::Semantics;
use tollgate_tests::repository;

use super::bytes;

/// A module, named after its attack.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) expected: Expected,
}

/// The expected outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    /// It is refused, and one of these checks reports it.
    Refused(Vec<String>),
    /// It is admitted and fails on every transaction in this way.
    Fails(String),
    /// It is admitted and returns a result. The verdict of a transaction to which no other rule objects.
    Harmless(String),
}

impl Expected {
    /// Parses the first line of a file: `refused: imports`, `fails: fuel`, `harmless: approve`.
    fn parse(line: &str) -> Option<Self> {
        let (kind, words) = line.split_once(": ")?;
        match kind {
            "refused" => Some(Self::Refused(words.split(" or ").map(str::to_owned).collect())),
            "fails" => Some(Self::Fails(words.to_owned())),
            "harmless" => Some(Self::Harmless(words.to_owned())),
            _ => None,
        }
    }

    /// Expects a refusal by this check.
    pub(crate) fn refused(check: &str) -> Self {
        Self::Refused(check.split(" or ").map(str::to_owned).collect())
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Refused(checks) => write!(f, "refused: {}", checks.join(" or ")),
            Expected::Fails(word) => write!(f, "fails: {word}"),
            Expected::Harmless(verdict) => write!(f, "harmless: {verdict}"),
        }
    }
}

/// Returns the modules of `tests/hostile`, by name.
pub(crate) fn of_files() -> Vec<Guest> {
    let mut guests: Vec<Guest> =
        repository::files("tests/hostile", ".wat").iter().map(|path| of_file(path)).collect();
    guests.sort_by(|left, right| left.name.cmp(&right.name));
    guests
}

fn of_file(path: &Path) -> Guest {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap().to_owned();
    let text = repository::read(path);
    let mut comments = text.lines().map_while(|line| line.strip_prefix(";; "));
    let expected = comments.next().and_then(Expected::parse);
    let expected = expected.unwrap_or_else(|| panic!("{name} does not say what is expected of it"));
    let manifest = comments.find_map(|line| line.strip_prefix("manifest: ").map(str::to_owned));
    let manifest = manifest.unwrap_or_else(|| manifest_of(&name).to_string());
    Guest { bytes: with_manifest(&assembled(&name, &text), manifest.as_bytes()), name, expected }
}

/// Assembles a module from text; an unreadable text is an error of the test.
pub(crate) fn assembled(name: &str, text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Appends this manifest to the module.
pub(crate) fn with_manifest(module: &[u8], manifest: &[u8]) -> Vec<u8> {
    [module, &bytes::custom("tollgate.manifest", manifest)].concat()
}

/// Returns a manifest with an entry of every kind, so that every host call finds something in slot 0. Its lookups equal
/// those of scripts.
pub(crate) fn manifest_of(name: &str) -> Value {
    let same_source = json!({
        "compare": {"left": {"field": "source"}, "operator": "==", "right": {"current": "source"}}
    });
    json!({
        "abi_version": 1,
        "semantics": Semantics::CURRENT,
        "rules": [{"name": name, "verdict": "block", "score": 0.9, "reason": "a hostile rule matched"}],
        "needs": {
            "fields": ["amount", "source", "destination", "reference", "metadata.long", "metadata.accents"],
            "texts": ["EUR", "USD"],
            "lists": [{"items": [{"text": "a"}, {"text": "b"}]}],
            "patterns": ["a+b"],
            "aggregates": [{"function": "count", "value": "amount", "filter": same_source, "window": "PT1H"}],
            "previous": [{"window": "PT1H", "pairs": [{"field": "source", "value": {"current": "source"}}]}],
            "times": [{"function": "hour_of_day", "field": "timestamp"}],
        },
    })
}

/// Returns a transaction with all fields of that manifest.
pub(crate) fn transaction(id: &str) -> Value {
    json!({
        "transaction_id": id, "amount": 10, "currency": "EUR", "reference": id, "source": "hostile-source",
        "destination": "hostile-destination", "created_at": "2026-01-01T00:00:00Z",
        "meta_data": {"long": "a".repeat(4_000), "accents": "éé"},
    })
}
