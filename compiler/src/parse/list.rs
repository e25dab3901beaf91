//! Parses the list after `in` and `not_in`, and the items of lists and match pairs.

use tollgate_guest_abi::Number;
use tollgate_guest_abi::limits::LIST_ITEMS_MAX;

use crate::ast::{ListExpr, ListItem, Spanned};
use crate::codes::Code;
use crate::diagnostic::quote;
use crate::lex::{TokenKind, unescape};
use crate::parse::Parser;
use crate::parse::expression::BindingPower;
use crate::parse::path::DollarReference;
use crate::span::Span;

impl Parser<'_, '_> {
    /// Parses a list in parentheses, a `$current` field, or a named list.
    pub(super) fn list(&mut self) -> ListExpr {
        let token = self.peek(0);
        match token.kind {
            TokenKind::LeftParenthesis => self.items(),
            TokenKind::Dollar => match self.reference() {
                Some(DollarReference::Current(path)) => ListExpr::Current(path),
                Some(DollarReference::Named(name)) => ListExpr::Named(name),
                None => ListExpr::Invalid,
            },
            TokenKind::Text | TokenKind::SingleQuoted => {
                let value = unescape(token.span.text(self.script));
                match self.quoted_current(&value, token.span) {
                    Some(path) => {
                        self.take();
                        path.map_or(ListExpr::Invalid, ListExpr::Current)
                    }
                    None => self.no_list(),
                }
            }
            _ => self.no_list(),
        }
    }

    fn no_list(&mut self) -> ListExpr {
        let lexeme = self.lexeme().to_owned();
        let kind = self.kind();
        self.expected(Code::ExpectedList, "a list").help(|| match kind {
            TokenKind::Text | TokenKind::SingleQuoted | TokenKind::Number => {
                format!("put it in parentheses: `({lexeme})`")
            }
            TokenKind::Name => {
                "a list is `(\"a\", \"b\")`, a named list `$name`, or a field of the transaction under evaluation, \
                 `$current.metadata.tags`"
                    .to_owned()
            }
            _ => "a list is written in parentheses: `(\"a\", \"b\")`".to_owned(),
        });
        // Skips the expression in place of the list; the missing list has been reported.
        self.expression(BindingPower::Sum);
        ListExpr::Invalid
    }

    fn items(&mut self) -> ListExpr {
        let opening = self.take().span;
        let mut items = Vec::new();
        let mut broken = false;
        while self.kind() != TokenKind::RightParenthesis {
            let opening = self.span();
            match self.item() {
                Some(item) => items.push(item),
                None => {
                    broken = true;
                    self.skip_to_comma();
                }
            }
            self.count_node(opening);
            if items.len() > LIST_ITEMS_MAX {
                self.complain_at(Code::ListTooLong, opening, || {
                    format!("a list has at most {LIST_ITEMS_MAX} items")
                })
                .help(|| "move long lists into named lists, which are kept beside the rules".to_owned());
                self.skip_past_parenthesis();
                return ListExpr::Invalid;
            }
            if self.take_if(TokenKind::Comma).is_none() && self.kind() != TokenKind::RightParenthesis {
                self.expected(Code::MissingClosingParenthesis, "`,` or `)`");
                self.skip_past_parenthesis();
                return ListExpr::Invalid;
            }
        }
        self.take();
        if items.is_empty() && !broken {
            let span = self.since(opening);
            self.complain_at(Code::EmptyList, span, || "the list is empty".to_owned())
                .help(|| "an empty list never contains a value: add an item, or remove the test".to_owned());
        }
        if items.is_empty() || broken { ListExpr::Invalid } else { ListExpr::Items(items) }
    }

    /// Parses a literal or a `$current` field. Returns `None` after reporting an error.
    pub(super) fn item(&mut self) -> Option<Spanned<ListItem>> {
        let first = self.span();
        let value = match self.kind() {
            TokenKind::Number => ListItem::Number(self.number()),
            TokenKind::Minus if self.peek(1).kind == TokenKind::Number => {
                self.take();
                ListItem::Number(self.number().negated())
            }
            TokenKind::True => {
                self.take();
                ListItem::Boolean(true)
            }
            TokenKind::False => {
                self.take();
                ListItem::Boolean(false)
            }
            TokenKind::Text | TokenKind::SingleQuoted => {
                self.take();
                let text = unescape(first.text(self.script));
                match self.quoted_current(&text, first) {
                    None => ListItem::Text(text),
                    Some(path) => ListItem::Current(path?),
                }
            }
            TokenKind::Dollar => match self.reference()? {
                DollarReference::Current(path) => ListItem::Current(path),
                DollarReference::Named(name) => {
                    self.complain_at(Code::ListAsValue, name.span, || {
                        format!("{} is a named list, not an item", quote(&format!("${}", name.value)))
                    })
                    .help(|| format!("use it with `in` or `not_in`: `source in ${}`", name.value));
                    return None;
                }
            },
            TokenKind::Invalid | TokenKind::Unterminated => {
                self.take();
                return None;
            }
            _ => {
                self.no_item();
                return None;
            }
        };
        Some(Spanned { value, span: self.since(first) })
    }

    fn number(&mut self) -> Number {
        let span = self.take().span;
        self.number_at(span)
    }

    pub(super) fn number_at(&self, span: Span) -> Number {
        Number::from_plain(span.text(self.script)).unwrap_or_else(|| Number::from(0))
    }

    fn no_item(&mut self) {
        let is_name = self.kind() == TokenKind::Name;
        let lexeme = self.lexeme().to_owned();
        self.expected(Code::ExpectedItem, "a literal or `$current.<field>`").help_if(|| {
            is_name.then(|| {
                format!("a text is written in quotes, `\"{lexeme}\"`; a field is written `$current.{lexeme}`")
            })
        });
    }
}
