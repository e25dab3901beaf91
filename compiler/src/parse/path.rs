//! Parses paths and references: `metadata.device.id`, `$current.source`, `$high_risk_countries`.

use tollgate_guest_abi::limits::PATH_KEYS_MAX;
use tollgate_guest_abi::split_path;

use crate::ast::{Path, Spanned};
use crate::codes::Code;
use crate::diagnostic::quote;
use crate::lex::{TokenKind, unescape};
use crate::parse::Parser;
use crate::span::Span;

/// Prefix of a quoted `$current` path.
const CURRENT: &str = "$current";

pub(super) enum DollarReference {
    Current(Path),
    /// A named list, without its `$`.
    Named(Spanned<String>),
}

impl Parser<'_, '_> {
    /// Parses a path that begins with the word at this position. Returns `None` after reporting an error.
    pub(super) fn path(&mut self) -> Option<Spanned<Path>> {
        let first = self.take().span;
        let mut keys = vec![first.text(self.script).to_owned()];
        let is_whole = self.keys(&mut keys);
        let span = self.since(first);
        self.bound_path(&keys, span);
        is_whole.then_some(Spanned { value: Path { keys }, span })
    }

    /// Parses `{ "." key }`. Returns whether all of them are valid keys.
    fn keys(&mut self, keys: &mut Vec<String>) -> bool {
        let mut is_whole = true;
        while self.take_if(TokenKind::Dot).is_some() {
            if self.kind().is_word() {
                keys.push(self.lexeme().to_owned());
                self.take();
                continue;
            }
            if self.kind() == TokenKind::Text {
                let span = self.take().span;
                keys.push(unescape(span.text(self.script)));
                continue;
            }
            is_whole = false;
            let is_quotable = matches!(self.kind(), TokenKind::Number | TokenKind::Invalid);
            let (path, key) = (keys.join("."), self.lexeme().to_owned());
            self.expected(Code::ExpectedKey, "a key after `.`").help(|| {
                if is_quotable {
                    format!("a key with other characters is written entirely in quotes: `{path}.\"{key}…\"`")
                } else {
                    "a key is letters, digits and `_`, or any text in quotes".to_owned()
                }
            });
            if is_quotable {
                self.take();
            }
        }
        is_whole
    }

    fn bound_path(&mut self, keys: &[String], span: Span) {
        if keys.len() > PATH_KEYS_MAX + 1 {
            self.complain_at(Code::PathTooLong, span, || {
                format!(
                    "a path has at most {PATH_KEYS_MAX} keys below its field, this one has {}",
                    keys.len() - 1
                )
            });
        }
    }

    /// Parses the reference that begins with the `$` at this position. Returns `None` after reporting an error.
    pub(super) fn reference(&mut self) -> Option<DollarReference> {
        let dollar = self.take().span;
        if self.kind() != TokenKind::Name {
            self.expected(Code::MalformedReference, "a name after `$`").help(|| {
                "write `$current.<field>`, or the name of a list such as `$high_risk_countries`".to_owned()
            });
            if matches!(self.kind(), TokenKind::Number | TokenKind::Invalid) {
                self.take();
            }
            return None;
        }
        let name = self.path()?;
        let span = dollar.to(name.span);
        let mut keys = name.value.keys;
        if keys.first().is_some_and(|first| format!("${first}") == CURRENT) {
            keys.remove(0);
            if keys.is_empty() {
                self.no_field_named(span);
                return None;
            }
            return Some(DollarReference::Current(Path { keys }));
        }
        Some(DollarReference::Named(Spanned { value: keys.join("."), span }))
    }

    /// Parses a string that begins with `$current.` as an unquoted path. Returns `None` for any other string, and
    /// `Some(None)` after reporting an error.
    pub(super) fn quoted_current(&mut self, text: &str, span: Span) -> Option<Option<Path>> {
        let below = text.strip_prefix(CURRENT)?;
        if below.is_empty() {
            self.no_field_named(span);
            return Some(None);
        }
        let below = below.strip_prefix('.')?;
        Some(self.quoted_path(below, span))
    }

    /// Parses a quoted dotted path. Returns `None` after reporting an error.
    pub(super) fn quoted_path(&mut self, text: &str, span: Span) -> Option<Path> {
        let keys = split_path(text);
        if keys.iter().any(String::is_empty) {
            self.complain_at(Code::ExpectedKey, span, || format!("{} has an empty key", quote(text)))
                .help(|| "write a key on both sides of every dot".to_owned());
            return None;
        }
        self.bound_path(&keys, span);
        Some(Path { keys })
    }

    fn no_field_named(&mut self, span: Span) {
        self.complain_at(Code::MalformedReference, span, || "`$current` names no field".to_owned())
            .help(|| "add a field: `$current.source`".to_owned());
    }
}
