//! Determines whether the payment under evaluation is among the rows that an aggregate of Watch counted.
//!
//! It is if it satisfies the filter. Evaluated outside an aggregate, the filter tests exactly that: its fields and its
//! `$current` fields then both refer to the payment.

use std::collections::BTreeSet;

use tollgate_guest_abi::{Comparison, FieldPath, FieldType};

use crate::ast::{ListExpr, ListItem, NodeId, NodeKind, Path};
use crate::from_watch::ParsedScript;

/// Fields that every transaction has.
const ALWAYS_THERE: [&str; 6] =
    ["amount", "currency", "reference", "transaction_id", "created_at", "timestamp"];
/// Texts that may be missing but are never empty.
const NEVER_EMPTY: [&str; 4] = ["source", "destination", "status", "hash"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FilterMembership {
    Always,
    Never,
    When {
        /// The condition on the payment; tests joined by `and`.
        condition: String,
        /// Whether no row satisfies the filter when the payment does not.
        otherwise_empty: bool,
    },
}

impl FilterMembership {
    pub(super) fn of_filter(tree: ParsedScript<'_>, filter: NodeId) -> Self {
        let parts = match tree.node(filter).map(|node| &node.kind) {
            Some(NodeKind::All(parts)) => parts.clone(),
            _ => vec![filter],
        };
        let mut conditions: Vec<String> = Vec::new();
        let mut otherwise_empty = true;
        for part in parts {
            conditions.extend(presences(tree, part));
            match Self::of_test(tree, part) {
                Self::Always => {}
                Self::Never => return Self::Never,
                Self::When { condition, otherwise_empty: empty } => {
                    otherwise_empty &= empty;
                    conditions.push(condition);
                }
            }
        }
        let mut seen = BTreeSet::new();
        conditions.retain(|condition| seen.insert(condition.clone()));
        if conditions.is_empty() {
            return Self::Always;
        }
        Self::When { condition: conditions.join(" and "), otherwise_empty }
    }

    fn of_test(tree: ParsedScript<'_>, id: NodeId) -> Self {
        let text = tree.text(id);
        let is_bare_any =
            tree.node(id).is_some_and(|node| matches!(node.kind, NodeKind::Any(_)) && !node.grouped);
        let written = if is_bare_any { format!("({text})") } else { text.to_owned() };
        let Some((path, operator)) = against_itself(tree, id) else {
            return Self::When { condition: written, otherwise_empty: false };
        };
        match operator {
            Comparison::Equal if is_always_there(path) => Self::Always,
            Comparison::Equal => {
                let condition = if is_never_empty(path) { presence(path) } else { written };
                Self::When { condition, otherwise_empty: true }
            }
            Comparison::NotEqual | Comparison::Less | Comparison::Greater => Self::Never,
            // A text has no order, even with itself.
            Comparison::LessOrEqual | Comparison::GreaterOrEqual => {
                Self::When { condition: written, otherwise_empty: false }
            }
        }
    }
}

/// Returns the field and the operator of a test that compares a row's field with the payment's same field.
fn against_itself(tree: ParsedScript<'_>, id: NodeId) -> Option<(&Path, Comparison)> {
    let NodeKind::Compare { left, operator, right } = &tree.node(id)?.kind else { return None };
    let (row, current) = match (&tree.node(*left)?.kind, &tree.node(*right)?.kind) {
        (NodeKind::Field(row), NodeKind::Current(current))
        | (NodeKind::Current(current), NodeKind::Field(row)) => (row, current),
        _ => return None,
    };
    (field(row) == field(current)).then_some((row, *operator))
}

fn is_always_there(path: &Path) -> bool {
    let is_named = matches!(path.keys.as_slice(), [key] if ALWAYS_THERE.contains(&key.as_str()));
    is_named || field(path).field_type() == FieldType::Boolean
}

fn field(path: &Path) -> FieldPath {
    FieldPath::new(path.keys.iter().cloned())
}

fn is_never_empty(path: &Path) -> bool {
    matches!(path.keys.as_slice(), [key] if NEVER_EMPTY.contains(&key.as_str()))
}

/// Returns conditions for the presence of `$current` fields. A filter with a missing `$current` field matches nothing,
/// even as one of several alternatives. Outside an aggregate the condition would ignore it, so its presence is tested
/// explicitly.
fn presences(tree: ParsedScript<'_>, part: NodeId) -> Vec<String> {
    let is_one_way = tree.node(part).is_some_and(|node| {
        matches!(
            &node.kind,
            NodeKind::Any(_)
                | NodeKind::All(_)
                | NodeKind::Not(_)
                | NodeKind::In { list: ListExpr::Items(_), .. }
        )
    });
    if !is_one_way {
        return Vec::new();
    }
    let paths = tree.below(part).into_iter().flat_map(|(_, node)| current_fields(&node.kind));
    paths.filter(|path| !is_always_there(path)).map(presence).collect()
}

fn current_fields<'a>(kind: &'a NodeKind) -> Vec<&'a Path> {
    match kind {
        NodeKind::Current(path) | NodeKind::In { list: ListExpr::Current(path), .. } => vec![path],
        NodeKind::In { list: ListExpr::Items(items), .. } => {
            let current =
                |item: &'a ListItem| if let ListItem::Current(path) = item { Some(path) } else { None };
            items.iter().filter_map(|item| current(&item.value)).collect()
        }
        NodeKind::Time(time) if time.current => vec![&time.field.value],
        _ => Vec::new(),
    }
}

fn presence(path: &Path) -> String {
    let name = field(path);
    if is_never_empty(path) {
        return format!("{name} != \"\"");
    }
    format!("({name} in (\"\") or {name} not_in (\"\"))")
}
