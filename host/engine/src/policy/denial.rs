//! Checks a manifest against a grant.

use std::collections::BTreeSet;
use std::fmt;

use tollgate_guest_abi::{
    AggregateSpec, Condition, FieldPath, Item, ListSource, Manifest, Needs, Operand, PreviousSpec, TimeSpec,
    Window,
};

use super::RuleGrant;

/// The policy name of previous-transaction lookups.
pub(super) const PREVIOUS_TRANSACTION: &str = "previous_transaction";

/// Everything a rule needs but is not granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Denial {
    /// Descriptions of the missing rights, such as ``the field `amount` ``; never empty.
    pub missing: Vec<String>,
}

impl Denial {
    /// The denial for a module whose initial memory exceeds its grant.
    #[must_use]
    pub fn of_memory() -> Self {
        Self { missing: vec!["the initial memory of the module".to_owned()] }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rule policy does not grant {}", self.missing.join(", "))
    }
}

/// Names and windows that a rule uses.
#[derive(Default)]
struct RuleUses<'m> {
    fields: BTreeSet<String>,
    lists: BTreeSet<&'m str>,
    history: BTreeSet<&'static str>,
    longest: Option<Window>,
}

impl RuleGrant {
    /// Checks a rule against this grant.
    ///
    /// # Errors
    /// Everything that is missing.
    pub fn check(&self, manifest: &Manifest) -> Result<(), Denial> {
        let mut uses = RuleUses::default();
        uses.needs(&manifest.needs);
        let mut missing = Vec::new();
        for (what, names, used) in [
            ("field", &self.fields, uses.fields.iter().map(String::as_str).collect::<Vec<_>>()),
            ("list", &self.lists, uses.lists.iter().copied().collect()),
            ("history function", &self.history, uses.history.iter().copied().collect()),
        ] {
            let denied = used.into_iter().filter(|name| !names.grants(name));
            missing.extend(denied.map(|name| format!("the {what} `{}`", name.escape_debug())));
        }
        if let (Some(granted), Some(longest)) = (self.longest_window, uses.longest)
            && longest > granted
        {
            missing.push(format!("a window of {longest} ({granted} at most)"));
        }
        if let Some(granted) = self.severest_verdict {
            let too_severe = manifest.rules.iter().filter(|rule| rule.verdict.severity() > granted);
            let most = granted.verdict();
            missing
                .extend(too_severe.map(|rule| format!("the verdict `{}` (`{most}` at most)", rule.verdict)));
        }
        missing.extend(self.over_budget(manifest));
        if missing.is_empty() { Ok(()) } else { Err(Denial { missing }) }
    }

    fn over_budget(&self, manifest: &Manifest) -> Vec<String> {
        let cost = manifest.cost;
        let mut budgets =
            vec![("look-ups of history", cost.history_lookups.into(), self.history_lookups.map(u64::from))];
        if self.is_budget_set {
            budgets.push(("instructions", cost.instructions.into(), Some(self.budget.fuel)));
            budgets.push(("calls to the host", cost.host_calls.into(), Some(self.budget.host_calls.into())));
        }
        let over = |(what, worst, granted): (&str, u64, Option<u64>)| {
            let granted = granted.filter(|granted| worst > *granted)?;
            Some(format!("{worst} {what} ({granted} at most)"))
        };
        budgets.into_iter().filter_map(over).collect()
    }
}

/// Returns the named lists a module uses, including those in its history queries.
#[must_use]
pub fn named_lists(needs: &Needs) -> BTreeSet<&str> {
    let mut uses = RuleUses::default();
    uses.needs(needs);
    uses.lists
}

impl<'m> RuleUses<'m> {
    fn needs(&mut self, needs: &'m Needs) {
        needs.fields.iter().for_each(|field| self.field(field));
        needs.lists.iter().for_each(|list| self.list(list));
        needs.aggregates.iter().for_each(|spec| self.aggregate(spec));
        needs.previous.iter().for_each(|spec| self.previous(spec));
        needs.times.iter().for_each(|spec| self.time(spec));
    }

    fn field(&mut self, field: &FieldPath) {
        self.fields.insert(field.to_string());
    }

    fn window(&mut self, window: Window) {
        self.longest = self.longest.max(Some(window));
    }

    fn list(&mut self, list: &'m ListSource) {
        match list {
            ListSource::Named(name) => drop(self.lists.insert(name)),
            ListSource::Current(path) => self.field(path),
            ListSource::Items(items) => items.iter().for_each(|item| self.item(item)),
        }
    }

    fn item(&mut self, item: &Item) {
        if let Item::Current(path) = item {
            self.field(path);
        }
    }

    fn aggregate(&mut self, spec: &'m AggregateSpec) {
        self.history.insert(spec.function.as_str());
        self.window(spec.window);
        // A count does not read its value field.
        if spec.function != tollgate_guest_abi::AggregateFunction::Count {
            self.field(&spec.value);
        }
        self.condition(&spec.filter);
    }

    fn previous(&mut self, spec: &PreviousSpec) {
        self.history.insert(PREVIOUS_TRANSACTION);
        self.window(spec.window);
        for pair in &spec.pairs {
            self.field(&pair.field);
            self.item(&pair.value);
        }
    }

    fn time(&mut self, spec: &TimeSpec) {
        self.field(&spec.field);
    }

    fn condition(&mut self, condition: &'m Condition) {
        match condition {
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().for_each(|part| self.condition(part));
            }
            Condition::Not(part) => self.condition(part),
            Condition::Compare { left, right, .. } => {
                self.operand(left);
                self.operand(right);
            }
            Condition::In { value, list, .. } => {
                self.operand(value);
                self.list(list);
            }
            Condition::Matches { value, .. } => self.operand(value),
            Condition::Previous(spec) => self.previous(spec),
        }
    }

    fn operand(&mut self, operand: &'m Operand) {
        match operand {
            Operand::Number(_) | Operand::Text(_) | Operand::Boolean(_) => {}
            Operand::Field(path) | Operand::Current(path) => self.field(path),
            Operand::Aggregate(spec) => self.aggregate(spec),
            Operand::Time(spec) => self.time(spec),
            Operand::Arithmetic { left, right, .. } => {
                self.operand(left);
                self.operand(right);
            }
            Operand::Negate(inner) => self.operand(inner),
        }
    }
}
