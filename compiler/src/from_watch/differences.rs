//! Reports what Watch evaluated differently or could not evaluate, without rewriting it. In most of these cases Watch
//! silently treated a test as false, so a rule may match for the first time here.

use tollgate_guest_abi::{AggregateFunction, Comparison};

use crate::ast::{AggregateExpr, ListExpr, ListItem, Node, NodeId, NodeKind, Path, PreviousExpr, Spanned};
use crate::from_watch::order::{self, TestConnective};
use crate::from_watch::{DifferenceCollector, ParsedScript};
use crate::span::Span;

/// The payment fields that rules in Watch could read. Metadata is only called `meta_data` there.
const OF_PAYMENT: [&str; 8] = [
    "transaction_id",
    "amount",
    "currency",
    "source",
    "destination",
    "description",
    "meta_data",
    "created_at",
];
/// The columns of stored payments in Watch, used by filters and `match`.
const COLUMNS: [&str; 7] =
    ["transaction_id", "amount", "currency", "source", "destination", "timestamp", "description"];

const NOW_READ: &str =
    "here it is read, so this test can be true for the first time: check that this is intended";

pub(super) fn remark(tree: ParsedScript<'_>, work: &mut DifferenceCollector) {
    for node in &tree.rule.nodes {
        if node.in_filter {
            continue;
        }
        match &node.kind {
            NodeKind::Compare { left, operator: _, right } => compare(tree, *left, *right, work),
            NodeKind::Between { value, .. } | NodeKind::Matches { value, .. } => operand(tree, *value, work),
            NodeKind::In { value, list, .. } => {
                operand(tree, *value, work);
                in_list(list, work);
            }
            NodeKind::Time(time) if !is_of_payment(&time.field.value) => {
                missing(&time.field.value, time.field.span, work)
            }
            NodeKind::Previous(asked) => previous(asked, work),
            NodeKind::Aggregate(asked) => aggregate(tree, asked, node, work),
            _ => {}
        }
    }
    inside_or(tree, work);
}

/// In Watch a bare path on the right was a text; on the left it was a field.
fn compare(tree: ParsedScript<'_>, left: NodeId, right: NodeId, work: &mut DifferenceCollector) {
    operand(tree, left, work);
    let Some(node) = tree.node(right) else { return };
    if let NodeKind::Field(path) = &node.kind {
        work.note(
            node.span,
            format!("Watch compared with the text \"{}\" here, not with that field", path.keys.join(".")),
            "here it is the field; to compare with the text, put it in quotes",
        );
    } else {
        operand(tree, right, work);
    }
}

fn operand(tree: ParsedScript<'_>, id: NodeId, work: &mut DifferenceCollector) {
    let Some(node) = tree.node(id) else { return };
    if let NodeKind::Field(path) | NodeKind::Current(path) = &node.kind
        && !is_of_payment(path)
    {
        missing(path, node.span, work);
    }
}

fn missing(path: &Path, span: Span, work: &mut DifferenceCollector) {
    let name = path.keys.join(".");
    let root = path.keys.first().map_or("", String::as_str);
    let why = match root {
        "metadata" => "Watch found metadata only under `meta_data`".to_owned(),
        "timestamp" => "Watch found the time of a payment only as `created_at`".to_owned(),
        _ => format!("Watch did not keep `{root}`"),
    };
    work.note(span, format!("{why}, so a test of `{name}` was never true there"), NOW_READ);
}

fn in_list(list: &ListExpr, work: &mut DifferenceCollector) {
    match list {
        ListExpr::Named(name) => work.note(
            name.span,
            format!("Watch has no named lists, so a rule with `${}` never fired there", name.value),
            "here it uses the list of that name, so the rule can fire: check that this is intended",
        ),
        ListExpr::Items(items) => {
            for item in items {
                if let ListItem::Current(path) = &item.value {
                    work.note(
                        item.span,
                        format!("Watch compared with the text `$current.{}` here", path.keys.join(".")),
                        "here it is that field of the payment",
                    );
                }
            }
        }
        ListExpr::Current(_) | ListExpr::Invalid => {}
    }
}

/// Watch ignored a pair that it could not look up and evaluated the others.
fn previous(asked: &PreviousExpr, work: &mut DifferenceCollector) {
    if let Some(window) = &asked.window {
        one_unit(window, "so a rule with it never fired there", work);
    }
    for (field, value) in &asked.pairs {
        let is_known = is_column(&field.value) || is_metadata(&field.value);
        let is_resolved = !matches!(&value.value, ListItem::Current(path) if !is_of_payment(path));
        if !is_known || !is_resolved {
            let name = field.value.keys.join(".");
            work.note(
                field.span.to(value.span),
                format!("Watch ignored the pair with `{name}` and matched only the others"),
                "here all pairs must match, so the rule matches less often",
            );
        }
    }
}

/// Watch supported one form: rows whose column equals a value, within a window that ends at the current time.
fn aggregate(tree: ParsedScript<'_>, asked: &AggregateExpr, node: &Node, work: &mut DifferenceCollector) {
    if matches!(asked.function, AggregateFunction::Distinct | AggregateFunction::Stddev) {
        return;
    }
    if let Some(window) = &asked.window {
        one_unit(window, "so no payment was evaluated while the rule was active", work);
    }
    let Some(filter) = tree.node(asked.filter) else { return };
    let NodeKind::Compare { left, operator, right } = &filter.kind else {
        work.note(
            filter.span,
            "Watch accepted only a single test `column == value` as a filter, and refused rules with any other filter",
            "this rule did not run there: check that it does what you intend",
        );
        return;
    };
    if *operator != Comparison::Equal {
        work.ask(
            filter.span,
            format!(
                "Watch tested for equality here, whatever the operator: `{}` was `==`",
                operator.as_str()
            ),
            "here the operator has its usual meaning: write `==` if the rule did what you intended in Watch",
        );
    }
    if let Some(NodeKind::Field(path)) = tree.node(*left).map(|node| &node.kind)
        && !is_column(path)
    {
        work.note(
            tree.node(*left).map_or(node.span, |left| left.span),
            format!(
                "Watch had no column `{}`, so no payment was evaluated while the rule was active",
                path.keys.join(".")
            ),
            NOW_READ,
        );
    }
    operand_of_filter(tree, *right, work);
}

fn operand_of_filter(tree: ParsedScript<'_>, id: NodeId, work: &mut DifferenceCollector) {
    let Some(node) = tree.node(id) else { return };
    match &node.kind {
        NodeKind::Current(path) if !is_of_payment(path) => missing(path, node.span, work),
        NodeKind::Field(path) => work.note(
            node.span,
            format!("Watch compared with the text \"{}\" here, not with that field", path.keys.join(".")),
            "here it is the field; to compare with the text, put it in quotes",
        ),
        _ => {}
    }
}

/// Watch computed an aggregate only outside any `or`; elsewhere the rule failed when it reached the aggregate.
fn inside_or(tree: ParsedScript<'_>, work: &mut DifferenceCollector) {
    let tests = order::tests(tree);
    let Some(last_or) = tests.iter().skip(1).rposition(|(joint, _)| *joint == TestConnective::Or) else {
        return;
    };
    for (_, test) in tests.iter().take(last_or + 2) {
        for (_, node) in tree.below(*test) {
            if matches!(node.kind, NodeKind::Aggregate(_)) {
                work.note(
                    node.span,
                    "Watch did not compute an aggregate beside an `or`: the rule failed when it reached the aggregate",
                    "here it is computed, so the rule can match for the first time: check that this is intended",
                );
            }
        }
    }
}

/// Reports a window with more than one unit, which Watch could not parse: `PT90M` was valid, `PT1H30M` was not.
fn one_unit(window: &Spanned<String>, consequence: &str, work: &mut DifferenceCollector) {
    let n_units = window.value.chars().filter(|character| matches!(character, 'D' | 'H' | 'M' | 'S')).count();
    if n_units > 1 {
        work.note(
            window.span,
            format!("Watch could not parse a window with more than one unit, {consequence}"),
            "here the window is valid: check that the rule does what you intend",
        );
    }
}

fn is_of_payment(path: &Path) -> bool {
    let root = path.keys.first().map_or("", String::as_str);
    OF_PAYMENT.contains(&root)
}

fn is_column(path: &Path) -> bool {
    matches!(path.keys.as_slice(), [key] if COLUMNS.contains(&key.as_str()))
}

fn is_metadata(path: &Path) -> bool {
    matches!(path.keys.as_slice(), [key, _, ..] if key == "metadata" || key == "meta_data")
}
