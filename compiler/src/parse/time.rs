//! Parses `hour_of_day(timestamp, "Africa/Lagos")`.

use tollgate_guest_abi::TimeFunction;

use crate::ast::{NodeId, NodeKind, Path, Spanned, TimeExpr};
use crate::codes::Code;
use crate::lex::{TokenKind, unescape};
use crate::parse::Parser;
use crate::parse::path::DollarReference;

impl Parser<'_, '_> {
    pub(super) fn time(&mut self, function: TimeFunction) -> NodeId {
        let first = self.take().span;
        self.take();
        let Some((field, current)) = self.time_field() else {
            return self.give_up_call(first);
        };
        let mut zone = None;
        if self.take_if(TokenKind::Comma).is_some() {
            zone = self.take_string();
            if zone.is_none() {
                self.expected(Code::MalformedTimeCall, "a time zone")
                    .help(|| "a time zone is a text such as \"Africa/Lagos\"".to_owned());
                return self.give_up_call(first);
            }
        }
        if self.take_if(TokenKind::RightParenthesis).is_none() {
            self.expected(Code::MalformedTimeCall, "`)` after the arguments")
                .help(|| format!("`{}` takes a field and, optionally, a time zone", function.as_str()));
            return self.give_up_call(first);
        }
        let span = self.since(first);
        self.add(NodeKind::Time(TimeExpr { function, field, current, zone }), span)
    }

    /// Parses the field argument. Returns it and whether it is a `$current` field; `None` after reporting an error.
    fn time_field(&mut self) -> Option<(Spanned<Path>, bool)> {
        let first = self.span();
        match self.kind() {
            TokenKind::Name | TokenKind::Description if self.peek(1).kind != TokenKind::LeftParenthesis => {
                return self.path().map(|path| (path, false));
            }
            TokenKind::Dollar => {
                return match self.reference()? {
                    DollarReference::Current(value) => {
                        Some((Spanned { value, span: self.since(first) }, true))
                    }
                    DollarReference::Named(name) => {
                        self.complain_at(Code::MalformedTimeCall, name.span, || {
                            "expected a field, found a named list".to_owned()
                        });
                        None
                    }
                };
            }
            TokenKind::Text | TokenKind::SingleQuoted => {
                let text = unescape(first.text(self.script));
                if let Some(path) = self.quoted_current(&text, first) {
                    self.take();
                    return path.map(|value| (Spanned { value, span: first }, true));
                }
            }
            _ => {}
        }
        self.expected(Code::MalformedTimeCall, "a field")
            .help(|| "time functions read a date-time field: `hour_of_day(timestamp)`".to_owned());
        None
    }
}
