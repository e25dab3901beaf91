//! Checks field names. An unknown field is always missing, which is only a warning.

use tollgate_guest_abi::{FieldPath, FieldType, Operand, split_path};

use crate::ast::{NodeId, NodeKind, Path};
use crate::check::{CheckedValue, Checker};
use crate::codes::Code;
use crate::diagnostic::{nearest, quote};
use crate::span::Span;

/// An unknown field name.
pub(super) struct UnknownField {
    path: FieldPath,
    span: Span,
    looks_like_text: bool,
    /// The path before it when a `-` without blanks joins the two; probably one hyphenated key.
    hyphened_to: Option<FieldPath>,
}

impl Checker<'_, '_> {
    /// Returns the canonical path, and records it when there is no such field.
    pub(super) fn field(&mut self, path: &Path, span: Span) -> FieldPath {
        let path = FieldPath::new(path.keys.iter().map(String::as_str));
        if path.field_type() == FieldType::Unknown {
            self.unknown_fields.push(UnknownField {
                path: path.clone(),
                span,
                looks_like_text: false,
                hyphened_to: None,
            });
        }
        path
    }

    /// Records that this value is the right side of a comparison, where authors often forget quotes.
    pub(super) fn note_right(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get(id.0) else {
            return;
        };
        if matches!(&node.kind, NodeKind::Field(path) if path.keys.len() == 1)
            && let Some(unknown) = self.unknown_fields.iter_mut().rev().find(|field| field.span == node.span)
        {
            unknown.looks_like_text = true;
        }
    }

    /// Records that `-` joins two names without blanks, where authors often mean one key: `metadata.device-id`.
    pub(super) fn note_hyphen(&mut self, left: &CheckedValue, right: &CheckedValue) {
        let between = self.script.get(left.span.end..right.span.start);
        if let (Operand::Field(path), Some("-")) = (&left.operand, between)
            && path.metadata_keys().is_some_and(|keys| !keys.is_empty())
            && let Some(unknown) = self.unknown_fields.iter_mut().rev().find(|field| field.span == right.span)
        {
            unknown.hyphened_to = Some(path.clone());
        }
    }

    pub(super) fn report_unknown_fields(&mut self) {
        for UnknownField { path, span, looks_like_text, hyphened_to } in
            std::mem::take(&mut self.unknown_fields)
        {
            let name = path.to_string();
            let near = || nearest(&name, FieldPath::names());
            if looks_like_text {
                self.findings
                    .report(Code::BareName, span, || {
                        format!("{} is not a known field, so this is never true", quote(&name))
                    })
                    .help(|| match near() {
                        Some(near) => {
                            format!("did you mean `{near}`? A text is written in quotes: `\"{name}\"`")
                        }
                        None => format!("a text is written in quotes: `\"{name}\"`"),
                    });
            } else {
                self.findings
                    .report(Code::UnknownField, span, || {
                        format!("{} is not a known field: its value is always missing", quote(&name))
                    })
                    .help(|| match &hyphened_to {
                        Some(before) => hyphened(before, &path),
                        None => cure(&path, near()),
                    });
            }
        }
    }
}

/// Suggests the quoted key for two names joined by `-`.
fn hyphened(before: &FieldPath, after: &FieldPath) -> String {
    let mut keys = split_path(&before.to_string());
    if let Some(last) = keys.last_mut() {
        last.push('-');
        last.push_str(after.root());
    }
    format!("a key with a hyphen is written in quotes: `{}`", FieldPath::new(keys))
}

fn cure(path: &FieldPath, near: Option<&str>) -> String {
    let name = path.to_string();
    let root_is_field = FieldPath::parse(path.root()).field_type() != FieldType::Unknown;
    if root_is_field {
        return format!("`{}` has no keys; only `metadata` has keys", path.root());
    }
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            format!("values that callers attach are below `metadata`: {}", quote(&format!("metadata.{name}")))
        }
    }
}
