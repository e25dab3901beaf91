//! Parses function calls. The syntax inside the parentheses depends on the function.

use tollgate_guest_abi::{AggregateFunction, TimeFunction};

use crate::ast::NodeId;
use crate::codes::Code;
use crate::diagnostic::{nearest, quote};
use crate::lex::TokenKind;
use crate::parse::Parser;

/// The only function that returns yes or no.
pub(super) const PREVIOUS_TRANSACTION: &str = "previous_transaction";

impl Parser<'_, '_> {
    pub(super) fn call(&mut self) -> NodeId {
        let name = self.lexeme();
        let aggregate = AggregateFunction::ALL.into_iter().find(|function| function.as_str() == name);
        let time = TimeFunction::ALL.into_iter().find(|function| function.as_str() == name);
        let asks_history = aggregate.is_some() || name == PREVIOUS_TRANSACTION;
        self.n_calls += 1;
        let id = if asks_history && self.in_filter {
            self.history_inside_filter()
        } else if let Some(function) = aggregate {
            self.aggregate(function)
        } else if let Some(function) = time {
            self.time(function)
        } else if asks_history {
            self.previous()
        } else {
            self.unknown_function()
        };
        self.n_calls -= 1;
        id
    }

    fn history_inside_filter(&mut self) -> NodeId {
        self.complain(Code::HistoryInsideFilter, |parser| {
            format!("{} cannot be used inside the filter of an aggregate", quote(parser.lexeme()))
        })
        .help(|| {
            "a filter tests one past transaction at a time; compare the two results outside the filter"
                .to_owned()
        });
        self.skip_call()
    }

    fn unknown_function(&mut self) -> NodeId {
        let functions = AggregateFunction::ALL
            .map(AggregateFunction::as_str)
            .into_iter()
            .chain(TimeFunction::ALL.map(TimeFunction::as_str))
            .chain([PREVIOUS_TRANSACTION]);
        let near = nearest(self.lexeme(), functions);
        self.complain(Code::UnknownFunction, |parser| format!("unknown function {}", quote(parser.lexeme())))
            .help(|| match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "the functions are the aggregates count, sum, avg, min, max, distinct and stddev, \
                         time functions such as hour_of_day, and previous_transaction"
                    .to_owned(),
            });
        self.skip_call()
    }

    /// Skips the name and everything in its parentheses.
    fn skip_call(&mut self) -> NodeId {
        let first = self.take().span;
        self.take_if(TokenKind::LeftParenthesis);
        self.give_up_call(first)
    }

    /// Skips the rest of a call that was reported.
    pub(super) fn give_up_call(&mut self, first: crate::span::Span) -> NodeId {
        self.skip_past_parenthesis();
        self.invalid(self.since(first))
    }
}
