//! Parses `sum(metadata.fee when source == $current.source, "P1D")`.

use tollgate_guest_abi::AggregateFunction;

use crate::ast::{AggregateExpr, NodeId, NodeKind, Path, Spanned};
use crate::codes::Code;
use crate::lex::TokenKind;
use crate::parse::Parser;
use crate::parse::expression::BindingPower;

impl Parser<'_, '_> {
    pub(super) fn aggregate(&mut self, function: AggregateFunction) -> NodeId {
        let first = self.take().span;
        self.take();
        let value = self.value_field();
        if self.kind() == TokenKind::When || self.at_where() {
            self.take();
        } else if value.is_some() {
            self.expected(Code::MalformedAggregate, "`when` and a filter after the value field")
                .help(|| example(function));
            return self.give_up_call(first);
        }
        if !self.enter(1, first) {
            self.leave(1);
            return self.invalid(first);
        }
        self.in_filter = true;
        let filter = self.expression(BindingPower::Or);
        self.in_filter = false;
        self.leave(1);
        if self.take_if(TokenKind::Comma).is_none() {
            self.distrust_end_of(filter);
            self.expected(Code::MalformedAggregate, "`,` and a window after the filter")
                .help(|| format!("`{}(when source == $current.source, \"PT1H\")`", function.as_str()));
            return self.give_up_call(first);
        }
        let window = self.take_string();
        if window.is_none() {
            self.expected(Code::MalformedWindow, "a window")
                .help(|| "a window is a text such as \"PT1H\"".to_owned());
            return self.give_up_call(first);
        }
        self.take_if(TokenKind::Comma);
        if self.take_if(TokenKind::RightParenthesis).is_none() {
            self.expected(Code::MalformedAggregate, "`)` after the window");
            return self.give_up_call(first);
        }
        let span = self.since(first);
        self.add(NodeKind::Aggregate(AggregateExpr { function, value, filter, window }), span)
    }

    /// Parses the optional value field: a path that no operator follows.
    fn value_field(&mut self) -> Option<Spanned<Path>> {
        if !matches!(self.kind(), TokenKind::Name | TokenKind::Description) {
            return None;
        }
        let mut ahead = 1;
        while self.peek(ahead).kind == TokenKind::Dot && self.peek(ahead + 1).kind.is_key() {
            ahead += 2;
        }
        let is_word = |ahead: usize| matches!(self.peek(ahead).kind, TokenKind::When | TokenKind::Name);
        let is_alone = self.peek(ahead).kind == TokenKind::Comma;
        let is_value = is_alone || (is_word(ahead) && self.infix(ahead).is_none() && !self.at_where());
        if is_value { self.path() } else { None }
    }

    /// Returns whether `where` begins the filter here, rather than being a field of that name in it.
    fn at_where(&self) -> bool {
        let is_field = self.peek(1).kind == TokenKind::Dot
            || (self.infix(1).is_some() && self.peek(1).kind != TokenKind::Minus);
        self.is_word(0, "where") && !is_field
    }
}

fn example(function: AggregateFunction) -> String {
    let value = if function == AggregateFunction::Distinct { "destination " } else { "" };
    format!("`{}({value}when source == $current.source, \"PT1H\")`", function.as_str())
}
