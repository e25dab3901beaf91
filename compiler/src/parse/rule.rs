//! Parses `rule NAME { description "…" when … then … }`.

use crate::ast::Spanned;
use crate::codes::Code;
use crate::lex::{TokenKind, unescape};
use crate::parse::Parser;
use crate::span::{Position, Span};

#[derive(Default)]
struct SeenClauses {
    description: bool,
    when: bool,
    then: Option<Span>,
}

impl Parser<'_, '_> {
    pub(super) fn script(&mut self) {
        if !self.head() {
            return;
        }
        let opening = self.take_if(TokenKind::LeftBrace).map(|token| token.span);
        if opening.is_none() {
            let is_clause = self.at_clause();
            self.expected(Code::ExpectedOpeningBrace, "`{`").help(|| {
                if is_clause {
                    "a rule is written in braces: `rule Name { … }`".to_owned()
                } else {
                    "a name is one word of letters, digits and `_`, followed by `{`".to_owned()
                }
            });
            self.skip_until(|parser| parser.at_clause() || parser.kind() == TokenKind::LeftBrace);
            self.take_if(TokenKind::LeftBrace);
        }
        self.body(opening);
    }

    /// Parses `rule NAME`. Returns `false` if there is no rule to parse.
    fn head(&mut self) -> bool {
        if self.take_if(TokenKind::Rule).is_none() {
            self.expected(Code::ExpectedRule, "`rule`")
                .help(|| "a script is one rule: `rule Name { when … then … }`".to_owned());
            self.skip_until(|parser| matches!(parser.kind(), TokenKind::LeftBrace));
            if self.take_if(TokenKind::Rule).is_none() {
                return self.kind() == TokenKind::LeftBrace;
            }
        }
        match self.take_if(TokenKind::Name) {
            Some(name) => {
                let value = name.span.text(self.script).to_owned();
                self.rule.name = Some(Spanned { value, span: name.span });
            }
            None => self.nameless(),
        }
        true
    }

    fn nameless(&mut self) {
        let is_reserved = self.kind().is_word();
        let is_string = self.kind().is_string();
        self.expected(Code::ExpectedRuleName, "a rule name").help_if(|| {
            if is_reserved {
                Some("that word is reserved: choose another name".to_owned())
            } else if is_string {
                Some("write the name without quotes: letters, digits and `_`".to_owned())
            } else {
                None
            }
        });
        if self.peek(1).kind == TokenKind::LeftBrace {
            self.take();
        }
        self.skip_until(|parser| parser.kind() == TokenKind::LeftBrace || parser.at_clause());
    }

    fn body(&mut self, opening: Option<Span>) {
        let mut seen = SeenClauses::default();
        loop {
            match self.kind() {
                TokenKind::Description => self.description(&mut seen),
                TokenKind::When => self.when(&mut seen),
                TokenKind::Then => self.then_clause(&mut seen),
                TokenKind::RightBrace if self.is_stray_brace(&seen) => {
                    self.take();
                    self.skip_to_clause();
                }
                TokenKind::RightBrace => {
                    let closing = self.take().span;
                    self.report_missing(&seen, closing);
                    self.after_rule();
                    return;
                }
                TokenKind::Rule | TokenKind::End => {
                    self.unclosed(opening);
                    return;
                }
                _ => self.unknown_clause(),
            }
        }
    }

    /// Returns whether an already reported brace is a stray one: the rule has no `then` yet, but one follows.
    fn is_stray_brace(&self, seen: &SeenClauses) -> bool {
        let ahead = self.tokens.get(self.next..).unwrap_or_default();
        self.complained_at == Some(self.next)
            && seen.then.is_none()
            && ahead.iter().any(|token| token.kind == TokenKind::Then)
    }

    fn unclosed(&mut self, opening: Option<Span>) {
        let position = opening.map(|opening| self.findings.position(opening.start));
        self.complain(Code::MissingClosingBrace, |parser| {
            format!("missing closing `}}`, found {}", parser.found())
        })
        .help_if(|| {
            position.map(|Position { line, column }| {
                format!("the `{{` at line {line}, column {column} is not closed")
            })
        });
    }

    fn unknown_clause(&mut self) {
        self.expected(Code::UnexpectedClause, "`description`, `when` or `then`");
        // The token may look like a clause keyword without starting a clause.
        self.take();
        self.skip_to_clause();
    }

    fn report_missing(&mut self, seen: &SeenClauses, closing: Span) {
        let (what, span) = match (seen.when, seen.then) {
            (true, Some(_)) => return,
            (false, Some(then)) => ("`when` clause", then),
            (true, None) => ("`then` clause", closing),
            (false, None) => ("`when` clause and no `then` clause", closing),
        };
        self.complain_at(Code::MissingClause, span, || format!("the rule has no {what}"))
            .help(|| "a rule needs a condition and a verdict: `when amount > 100 then review`".to_owned());
    }

    fn after_rule(&mut self) {
        let is_rule = self.kind() == TokenKind::Rule;
        if self.kind() != TokenKind::End {
            self.complain(Code::TextAfterRule, |parser| {
                format!("expected the end of the script after the rule, found {}", parser.found())
            })
            .help_if(|| {
                is_rule.then(|| "a script contains one rule: put the next one into its own script".to_owned())
            });
        }
    }

    fn description(&mut self, seen: &mut SeenClauses) {
        let word = self.take().span;
        self.note_clause("description", std::mem::replace(&mut seen.description, true), seen.then, word);
        match self.take_double_quoted() {
            Some(text) if self.rule.description.is_none() => self.rule.description = Some(text),
            Some(_) => {}
            None => {
                self.expected(Code::ExpectedDescription, "string after 'description'")
                    .help(|| "a description is written in double quotes".to_owned());
                self.skip_to_clause();
            }
        }
    }

    fn when(&mut self, seen: &mut SeenClauses) {
        let word = self.take().span;
        self.note_clause("when", std::mem::replace(&mut seen.when, true), seen.then, word);
        let condition = self.when_condition();
        self.rule.when.get_or_insert(condition);
    }

    fn then_clause(&mut self, seen: &mut SeenClauses) {
        let word = self.take().span;
        let repeated = seen.then.replace(word).is_some();
        self.note_clause("then", repeated, None, word);
        self.then();
    }

    /// Reports a repeated clause, or one after `then`.
    fn note_clause(&mut self, name: &str, repeated: bool, then: Option<Span>, word: Span) {
        // A clause directly after the verdict was already reported there.
        let known = self.complained_at.is_some_and(|at| at + 1 == self.next);
        if repeated && !known {
            self.complain_at(Code::RepeatedClause, word, || format!("`{name}` is given twice"))
                .help(|| format!("a rule has one `{name}` clause: join the two, or write two rules"));
        } else if then.is_some() && !known {
            self.complain_at(Code::UnexpectedClause, word, || format!("`{name}` comes after `then`"))
                .help(|| format!("`then` is the last clause: move `{name}` before it"));
        }
    }

    pub(super) fn take_double_quoted(&mut self) -> Option<Spanned<String>> {
        matches!(self.kind(), TokenKind::Text | TokenKind::Unterminated).then(|| {
            let token = self.take();
            Spanned { value: unescape(token.span.text(self.script)), span: token.span }
        })
    }
}
