//! Text form of an AST for golden files: one node per line, children indented below their parent.

use crate::ast::{ListExpr, ListItem, NodeId, NodeKind, Path, Rule, Spanned};

pub(crate) fn outline(rule: &Rule) -> String {
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
    let mut lines = format!("rule {:?}\n  description {:?}\n", text(&rule.name), text(&rule.description));
    match rule.when {
        Some(when) => draw(rule, when, "when ", 1, &mut lines),
        None => lines.push_str("  when None\n"),
    }
    let score = rule.then.score.as_ref().map(|score| score.value);
    lines +=
        &format!("  then {:?} score {score:?} reason {:?}\n", rule.then.verdict, text(&rule.then.reason));
    lines
}

fn draw(rule: &Rule, id: NodeId, role: &str, depth: usize, lines: &mut String) {
    let node = &rule.nodes[id.0];
    let (name, parts) = describe(&node.kind);
    let grouped = if node.grouped { " grouped" } else { "" };
    let filter = if node.in_filter { " in filter" } else { "" };
    let range = format!("{}..{}", node.span.start, node.span.end);
    lines.push_str(&format!("{}{role}{name}{grouped}{filter} @{range}\n", "  ".repeat(depth)));
    for (role, part) in parts {
        draw(rule, part, role, depth + 1, lines);
    }
}

fn describe(kind: &NodeKind) -> (String, Vec<(&'static str, NodeId)>) {
    let all = |parts: &[NodeId]| parts.iter().map(|&part| ("", part)).collect();
    let word = |negated: bool, word: &str| if negated { format!("not_{word}") } else { word.to_owned() };
    match kind {
        NodeKind::Any(parts) => ("any".into(), all(parts)),
        NodeKind::All(parts) => ("all".into(), all(parts)),
        NodeKind::Not(part) => ("not".into(), all(&[*part])),
        NodeKind::Compare { left, operator, right } => (operator.as_str().into(), all(&[*left, *right])),
        NodeKind::Between { value, low, high } => {
            ("between".into(), vec![("", *value), ("low ", *low), ("high ", *high)])
        }
        NodeKind::In { value, list, negated } => {
            (format!("{} {}", word(*negated, "in"), write_list(list)), all(&[*value]))
        }
        NodeKind::Matches { value, pattern, negated } => {
            (format!("{} {:?}", word(*negated, "regex"), inner(pattern)), all(&[*value]))
        }
        NodeKind::Previous(previous) => {
            let pairs: Vec<String> = previous
                .pairs
                .iter()
                .map(|(key, item)| format!("{}: {}", write_path(&key.value), write_item(&item.value)))
                .collect();
            (format!("previous {:?} {{{}}}", inner(&previous.window), pairs.join(", ")), vec![])
        }
        NodeKind::Arithmetic { left, operator, right } => (format!("{operator:?}"), all(&[*left, *right])),
        NodeKind::Negate(part) => ("negate".into(), all(&[*part])),
        NodeKind::Number(number) => (format!("number {number}"), vec![]),
        NodeKind::Text(text) => (format!("text {text:?}"), vec![]),
        NodeKind::Boolean(boolean) => (format!("boolean {boolean}"), vec![]),
        NodeKind::Field(path) => (format!("field {}", write_path(path)), vec![]),
        NodeKind::Current(path) => (format!("current {}", write_path(path)), vec![]),
        NodeKind::Aggregate(aggregate) => {
            let value = aggregate.value.as_ref().map_or("nothing".into(), |value| write_path(&value.value));
            let name = aggregate.function.as_str();
            (format!("{name} of {value} within {:?}", inner(&aggregate.window)), all(&[aggregate.filter]))
        }
        NodeKind::Time(time) => {
            let current = if time.current { "$current." } else { "" };
            let field = write_path(&time.field.value);
            (format!("{} of {current}{field} in {:?}", time.function.as_str(), inner(&time.zone)), vec![])
        }
        NodeKind::Invalid => ("invalid".into(), vec![]),
    }
}

fn inner(text: &Option<Spanned<String>>) -> Option<&str> {
    text.as_ref().map(|text| text.value.as_str())
}

fn write_list(list: &ListExpr) -> String {
    match list {
        ListExpr::Items(items) => {
            format!("({})", items.iter().map(|item| write_item(&item.value)).collect::<Vec<_>>().join(", "))
        }
        ListExpr::Current(path) => format!("$current.{}", write_path(path)),
        ListExpr::Named(name) => format!("${}", name.value),
        ListExpr::Invalid => "invalid".to_owned(),
    }
}

fn write_item(item: &ListItem) -> String {
    match item {
        ListItem::Number(number) => number.to_string(),
        ListItem::Text(text) => format!("{text:?}"),
        ListItem::Boolean(boolean) => boolean.to_string(),
        ListItem::Current(path) => format!("$current.{}", write_path(path)),
    }
}

fn write_path(path: &Path) -> String {
    path.keys.join(".")
}
