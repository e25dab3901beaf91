//! Checks that a manifest is readable and within the limits of scripts.

use std::fmt::Display;

use tollgate_guest_abi::limits::{
    CONDITION_DEPTH_MAX, DESCRIPTION_BYTES_MAX, HISTORY_LOOKUPS_MAX, LIST_ITEMS_MAX, NAME_BYTES_MAX,
    NEEDS_MAX, NODES_MAX, PATH_KEYS_MAX, PATTERNS_MAX, REASON_BYTES_MAX,
};
use tollgate_guest_abi::{
    AggregateSpec, Condition, FieldPath, Item, ListSource, MANIFEST_SECTION, Manifest, Needs, Operand,
    PreviousSpec, RuleEntry, TimeSpec,
};
use tollgate_model::pattern::CompiledPattern;

use super::finding::{AdmissionCheck, AdmissionFindings};
use crate::sandbox::plain_text::is_plain;

/// Reads the only manifest.
pub(super) fn read(sections: &[(usize, &[u8])], findings: &mut AdmissionFindings) -> Option<Manifest> {
    match sections {
        [] => {
            findings.add(AdmissionCheck::Manifest, None, || {
                format!("a rule module must have a section `{MANIFEST_SECTION}`; this one has none")
            });
            None
        }
        [(at, bytes)] => match Manifest::from_bytes(bytes) {
            Ok(manifest) => Some(manifest),
            Err(error) => {
                findings.add(AdmissionCheck::Manifest, Some(*at), || error.to_string());
                None
            }
        },
        [_, (at, _), ..] => {
            findings.add(AdmissionCheck::Manifest, Some(*at), || {
                format!("there is more than one section `{MANIFEST_SECTION}`")
            });
            None
        }
    }
}

/// Checks every limit that the compiler enforces for scripts.
pub(super) fn check(manifest: &Manifest, findings: &mut AdmissionFindings) {
    let mut checks = ManifestChecks { findings, n_nodes: 0, n_patterns: 0 };
    manifest.rules.iter().for_each(|rule| checks.rule(rule));
    checks.needs(&manifest.needs);
}

struct ManifestChecks<'f> {
    findings: &'f mut AdmissionFindings,
    /// Nodes of all conditions and lists.
    n_nodes: usize,
    n_patterns: usize,
}

impl ManifestChecks<'_> {
    fn complain(&mut self, message: impl FnOnce() -> String) {
        self.findings.add(AdmissionCheck::Manifest, None, message);
    }

    fn limit(&mut self, what: impl Display, n: usize, n_max: usize) {
        if n > n_max {
            self.complain(|| format!("{what}: {n}, at most {n_max} are allowed"));
        }
    }

    fn rule(&mut self, rule: &RuleEntry) {
        let RuleEntry { name, description, score, reason, verdict: _ } = rule;
        if !is_name(name) {
            self.complain(|| {
                format!(
                    "`{name}` is not a valid rule name: use letters, digits and `_`, no digit first, at most \
                     {NAME_BYTES_MAX} bytes"
                )
            });
        }
        if !(0.0..=1.0).contains(score) {
            self.complain(|| format!("the score {score} is not between 0 and 1"));
        }
        self.text("the reason", reason, REASON_BYTES_MAX);
        if let Some(description) = description {
            self.text("the description", description, DESCRIPTION_BYTES_MAX);
        }
    }

    fn text(&mut self, what: &str, text: &str, n_bytes_max: usize) {
        self.limit(format_args!("bytes of {what}"), text.len(), n_bytes_max);
        if !text.chars().all(is_plain) {
            self.complain(|| {
                format!("{what} contains a control character, or one that changes the text direction")
            });
        }
    }

    fn needs(&mut self, needs: &Needs) {
        let Needs { fields, texts, lists, patterns, aggregates, previous, times } = needs;
        for (what, n) in
            [("fields", fields.len()), ("texts", texts.len()), ("lists", lists.len()), ("times", times.len())]
        {
            self.limit(what, n, NEEDS_MAX);
        }
        self.limit(
            "aggregates and previous transactions",
            aggregates.len() + previous.len(),
            HISTORY_LOOKUPS_MAX,
        );
        fields.iter().for_each(|field| self.path(field));
        lists.iter().for_each(|list| self.list(list));
        patterns.iter().for_each(|pattern| self.pattern(pattern));
        aggregates.iter().for_each(|spec| self.aggregate(spec));
        previous.iter().for_each(|spec| self.previous(spec));
        times.iter().for_each(|spec| self.time(spec));
        self.limit("patterns", self.n_patterns, PATTERNS_MAX);
        self.limit("parts of all conditions and lists together", self.n_nodes, NODES_MAX);
    }

    fn path(&mut self, path: &FieldPath) {
        let n_keys = path.metadata_keys().map_or(1, <[String]>::len);
        self.limit(format_args!("keys of the path `{path}`"), n_keys, PATH_KEYS_MAX);
    }

    fn list(&mut self, list: &ListSource) {
        match list {
            ListSource::Items(items) => {
                self.limit("items of a list", items.len(), LIST_ITEMS_MAX);
                if items.is_empty() {
                    self.complain(|| "a list has no items".to_owned());
                }
                items.iter().for_each(|item| self.item(item));
            }
            ListSource::Current(path) => self.path(path),
            ListSource::Named(name) if !is_name(name) => {
                self.complain(|| format!("`{name}` is not a valid list name"));
            }
            ListSource::Named(_) => {}
        }
    }

    fn item(&mut self, item: &Item) {
        self.n_nodes += 1;
        if let Item::Current(path) = item {
            self.path(path);
        }
    }

    fn pattern(&mut self, pattern: &str) {
        self.n_patterns += 1;
        if self.n_patterns > PATTERNS_MAX {
            return;
        }
        if let Err(error) = CompiledPattern::compile(pattern) {
            self.complain(|| error.to_string());
        }
    }

    fn aggregate(&mut self, spec: &AggregateSpec) {
        self.path(&spec.value);
        self.condition(&spec.filter, 1);
    }

    fn previous(&mut self, spec: &PreviousSpec) {
        if spec.pairs.is_empty() {
            self.complain(|| "a previous transaction has no pair to match".to_owned());
        }
        for pair in &spec.pairs {
            self.path(&pair.field);
            self.item(&pair.value);
        }
    }

    fn time(&mut self, spec: &TimeSpec) {
        self.path(&spec.field);
    }

    /// Counts a node. Returns whether its children are within the limits.
    fn enter(&mut self, depth: usize) -> bool {
        self.n_nodes += 1;
        if depth == CONDITION_DEPTH_MAX + 1 {
            self.complain(|| format!("a condition is nested deeper than {CONDITION_DEPTH_MAX} levels"));
        }
        depth <= CONDITION_DEPTH_MAX && self.n_nodes <= NODES_MAX
    }

    fn condition(&mut self, condition: &Condition, depth: usize) {
        if !self.enter(depth) {
            return;
        }
        match condition {
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().for_each(|part| self.condition(part, depth + 1));
            }
            Condition::Not(part) => self.condition(part, depth + 1),
            Condition::Compare { left, right, .. } => {
                self.operand(left, depth + 1);
                self.operand(right, depth + 1);
            }
            Condition::In { value, list, .. } => {
                self.operand(value, depth + 1);
                self.list(list);
            }
            Condition::Matches { .. } => self.complain(|| {
                "a filter cannot hold a pattern: it would be matched against every transaction without using fuel; match it \
                 against the transaction under evaluation"
                    .to_owned()
            }),
            Condition::Previous(_) => self.nested(),
        }
    }

    fn operand(&mut self, operand: &Operand, depth: usize) {
        if !self.enter(depth) {
            return;
        }
        match operand {
            Operand::Number(_) | Operand::Text(_) | Operand::Boolean(_) => {}
            Operand::Field(path) | Operand::Current(path) => self.path(path),
            Operand::Aggregate(_) => self.nested(),
            Operand::Time(spec) => self.time(spec),
            Operand::Arithmetic { left, right, .. } => {
                self.operand(left, depth + 1);
                self.operand(right, depth + 1);
            }
            Operand::Negate(inner) => self.operand(inner, depth + 1),
        }
    }

    fn nested(&mut self) {
        self.complain(|| "a filter cannot hold an aggregate or a previous transaction".to_owned());
    }
}

/// Whether a name is valid for rules and lists in scripts.
fn is_name(name: &str) -> bool {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.chars().all(is_word)
        && !name.starts_with(|first: char| first.is_ascii_digit())
}
