//! Parses `then review score 0.7 reason "…"`. The text of four messages here is part of the interface.

use tollgate_guest_abi::Verdict;

use crate::ast::{Spanned, Then};
use crate::codes::Code;
use crate::diagnostic::nearest;
use crate::lex::TokenKind;
use crate::parse::Parser;

impl Parser<'_, '_> {
    /// Parses the clause after `then`. A second `then` clause is parsed, but the first one is kept.
    pub(super) fn then(&mut self) {
        let mut then = Then { verdict: self.verdict(), ..Then::default() };
        loop {
            if self.is_word(0, "score") {
                self.score(&mut then);
            } else if self.is_word(0, "reason") {
                self.reason(&mut then);
            } else if matches!(self.kind(), TokenKind::RightBrace | TokenKind::End) {
                break;
            } else {
                let cure = match self.kind() {
                    TokenKind::Rule => "the previous rule is not closed: write `}` before this one",
                    TokenKind::When | TokenKind::Description => {
                        "`then` is the last clause: move this clause before it"
                    }
                    _ => "only `score <number>` and `reason \"<text>\"` can follow the verdict",
                };
                self.complain(Code::UnexpectedInThen, |_| "unexpected token in then clause".to_owned())
                    .help(|| cure.to_owned());
                // A misplaced clause is parsed as a clause, so that its own errors are reported.
                if self.at_clause() {
                    break;
                }
                self.take();
                self.skip_to_then_part();
            }
        }
        if self.rule.then.verdict.is_none() {
            self.rule.then = then;
        }
    }

    fn verdict(&mut self) -> Option<Verdict> {
        let verdict = Verdict::ALL.into_iter().find(|verdict| self.is_word(0, verdict.as_str()));
        if verdict.is_some() {
            self.take();
            return verdict;
        }
        let near = nearest(self.lexeme(), Verdict::ALL.map(Verdict::as_str));
        self.complain(Code::ExpectedVerdict, |_| "expected verdict (allow, block, review)".to_owned()).help(
            || {
                let all = "a verdict is one of allow, approve, alert, review, deny, block";
                near.map_or_else(|| all.to_owned(), |near| format!("did you mean `{near}`? {all}"))
            },
        );
        if !self.at_then_part() {
            self.take();
            self.skip_to_then_part();
        }
        None
    }

    fn score(&mut self, then: &mut Then) {
        self.note_part("score", then.score.is_some());
        if self.kind() != TokenKind::Number {
            let is_negative = self.kind() == TokenKind::Minus;
            self.complain(Code::ExpectedScore, |_| "expected number after 'score'".to_owned()).help(|| {
                let plain = "a score is a number from 0 to 1, such as `score 0.7`";
                if is_negative {
                    "a score cannot be negative: 0 is the lowest".to_owned()
                } else {
                    plain.to_owned()
                }
            });
            if self.kind() == TokenKind::Invalid {
                self.take();
            }
            self.skip_to_then_part();
            return;
        }
        let token = self.take();
        let value = token.span.text(self.script).parse().unwrap_or_default();
        then.score.get_or_insert(Spanned { value, span: token.span });
    }

    fn reason(&mut self, then: &mut Then) {
        self.note_part("reason", then.reason.is_some());
        match self.take_double_quoted() {
            Some(text) => {
                then.reason.get_or_insert(text);
            }
            None => {
                self.complain(Code::ExpectedReason, |_| "expected string after 'reason'".to_owned())
                    .help(|| "a reason is written in double quotes: `reason \"…\"`".to_owned());
                self.skip_to_then_part();
            }
        }
    }

    /// Takes the keyword; reports a repeated one.
    fn note_part(&mut self, name: &str, repeated: bool) {
        let word = self.take().span;
        if repeated {
            self.complain_at(Code::RepeatedInThen, word, || format!("`{name}` is given twice"))
                .help(|| format!("keep one `{name}`"));
        }
    }

    fn at_then_part(&self) -> bool {
        self.is_word(0, "score") || self.is_word(0, "reason") || self.at_clause()
    }

    fn skip_to_then_part(&mut self) {
        self.skip_until(Parser::at_then_part);
    }
}
