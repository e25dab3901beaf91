//! Parses `previous_transaction(within: "PT1H", match: { source: "$current.source", status: "failed" })`.

use crate::ast::{ListItem, NodeId, NodeKind, Path, PreviousExpr, Spanned};
use crate::codes::Code;
use crate::diagnostic::{nearest, quote};
use crate::lex::{TokenKind, unescape};
use crate::parse::Parser;
use crate::span::Span;

/// The correct form, for help texts.
const FORM: &str = "`previous_transaction(within: \"PT1H\", match: { source: $current.source })`";

#[derive(Default)]
struct SeenArguments {
    window: bool,
    pairs: bool,
    /// An argument was invalid, so missing arguments are not reported.
    broken: bool,
}

impl Parser<'_, '_> {
    pub(super) fn previous(&mut self) -> NodeId {
        let first = self.take().span;
        self.take();
        let mut previous = PreviousExpr::default();
        let mut seen = SeenArguments::default();
        while self.kind() != TokenKind::RightParenthesis {
            self.argument(&mut previous, &mut seen);
            if self.take_if(TokenKind::Comma).is_none() && self.kind() != TokenKind::RightParenthesis {
                self.expected(Code::MalformedPrevious, "`,` or `)`").help(|| FORM.to_owned());
                return self.give_up_call(first);
            }
        }
        self.take();
        let span = self.since(first);
        self.report_missing_arguments(&seen, span);
        if seen.broken || !seen.window || !seen.pairs {
            return self.invalid(span);
        }
        self.add(NodeKind::Previous(previous), span)
    }

    fn report_missing_arguments(&mut self, seen: &SeenArguments, span: Span) {
        let missing = match (seen.window, seen.pairs) {
            _ if seen.broken => return,
            (true, true) => return,
            (false, true) => "the argument `within`",
            (true, false) => "the argument `match`",
            (false, false) => "the arguments `within` and `match`",
        };
        self.complain_at(Code::MissingArgument, span, || format!("`previous_transaction` needs {missing}"))
            .help(|| FORM.to_owned());
    }

    /// Parses `name: value`, up to a comma or a closing parenthesis, if there is one.
    fn argument(&mut self, previous: &mut PreviousExpr, seen: &mut SeenArguments) {
        let name = self.peek(0);
        let written = name.span.text(self.script);
        let is_window = matches!(written, "within" | "time_window");
        if !self.kind().is_word() {
            self.expected(Code::MalformedPrevious, "`within:` or `match:`").help(|| FORM.to_owned());
            return self.give_up_argument(seen);
        }
        if !is_window && written != "match" {
            let near = nearest(written, ["within", "match", "time_window"]);
            self.complain(Code::UnknownArgument, |_| format!("unknown argument {}", quote(written))).help(
                || {
                    near.map_or_else(
                        || format!("the arguments are `within` and `match`: {FORM}"),
                        |near| format!("did you mean `{near}`?"),
                    )
                },
            );
            return self.give_up_argument(seen);
        }
        let given = if is_window { &mut seen.window } else { &mut seen.pairs };
        if std::mem::replace(given, true) {
            self.complain(Code::RepeatedArgument, |_| format!("{} is given twice", quote(written)))
                .help(|| "keep one; `within` and `time_window` are the same argument".to_owned());
        }
        self.take();
        if self.take_if(TokenKind::Colon).is_none() {
            self.expected(Code::MalformedPrevious, "`:`").help(|| FORM.to_owned());
            return self.give_up_argument(seen);
        }
        if is_window {
            self.within(previous, seen);
        } else {
            self.pairs(previous, seen);
        }
    }

    fn give_up_argument(&mut self, seen: &mut SeenArguments) {
        seen.broken = true;
        self.skip_to_comma();
    }

    fn within(&mut self, previous: &mut PreviousExpr, seen: &mut SeenArguments) {
        match self.take_string() {
            Some(window) => previous.window = Some(window),
            None => {
                self.expected(Code::MalformedWindow, "a window")
                    .help(|| "a window is a text such as \"PT1H\"".to_owned());
                self.give_up_argument(seen);
            }
        }
    }

    /// Parses `{ key: value, … }`.
    fn pairs(&mut self, previous: &mut PreviousExpr, seen: &mut SeenArguments) {
        let opening = self.span();
        if self.take_if(TokenKind::LeftBrace).is_none() {
            self.expected(Code::MalformedPrevious, "`{`").help(|| FORM.to_owned());
            return self.give_up_argument(seen);
        }
        if self.take_if(TokenKind::RightBrace).is_some() {
            seen.broken = true;
            let span = self.since(opening);
            self.complain_at(Code::EmptyMatch, span, || "`match` needs at least one pair".to_owned())
                .help(|| "name the fields that must be equal: `{ source: $current.source }`".to_owned());
            return;
        }
        while self.kind() != TokenKind::RightBrace {
            match self.pair() {
                Some(pair) => previous.pairs.push(pair),
                None => self.give_up_argument(seen),
            }
            if self.take_if(TokenKind::Comma).is_none() && self.kind() != TokenKind::RightBrace {
                self.expected(Code::MalformedPrevious, "`,` or `}`");
                self.give_up_argument(seen);
                if self.take_if(TokenKind::Comma).is_none() && self.kind() != TokenKind::RightBrace {
                    return;
                }
            }
        }
        self.take();
    }

    fn pair(&mut self) -> Option<(Spanned<Path>, Spanned<ListItem>)> {
        let key = self.pair_key()?;
        if self.take_if(TokenKind::Colon).is_none() {
            self.expected(Code::MalformedPrevious, "`:`").help(|| "a pair is `key: value`".to_owned());
            return None;
        }
        let item = self.item()?;
        self.count_node(key.span);
        Some((key, item))
    }

    fn pair_key(&mut self) -> Option<Spanned<Path>> {
        if self.kind().is_word() {
            return self.path();
        }
        if matches!(self.kind(), TokenKind::Text | TokenKind::SingleQuoted) {
            let span = self.take().span;
            let value = self.quoted_path(&unescape(span.text(self.script)), span)?;
            return Some(Spanned { value, span });
        }
        self.expected(Code::MalformedPrevious, "a field")
            .help(|| "a pair is `key: value`, such as `status: \"failed\"`".to_owned());
        None
    }
}
