//! Parses conditions and values: one grammar with operator precedence.
//!
//! ```text
//!  or < and < not < == != > >= < <= in regex between < + - < * / < sign
//! ```
//!
//! Chains of `and`, of `or` and of arithmetic are parsed in loops. Recursion is as deep as parentheses, `not`, signs
//! and filters are nested, which `Parser::enter` limits.

use tollgate_guest_abi::{ArithmeticOperator, Comparison};

use crate::ast::{NodeId, NodeKind};
use crate::codes::Code;
use crate::lex::TokenKind;
use crate::parse::Parser;
use crate::span::Span;

/// Operator precedence, loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BindingPower {
    Or,
    And,
    Test,
    Sum,
    Product,
    /// An operand between two operators.
    Operand,
}

impl Parser<'_, '_> {
    /// Parses the condition of the `when` clause, up to the next clause.
    pub(super) fn when_condition(&mut self) -> NodeId {
        let first = self.span();
        let mut condition = self.expression(BindingPower::Or);
        let mut is_whole = true;
        while !self.at_clause() {
            let is_operand =
                matches!(self.kind(), TokenKind::Name | TokenKind::Not | TokenKind::LeftParenthesis);
            let cure = foreign_connective(self.lexeme())
                .or_else(|| is_operand.then(|| "join tests with `and` or `or`".to_owned()));
            self.expected(Code::ExpectedConnective, "`and`, `or` or `then`").help_if(|| cure);
            self.distrust_end_of(condition);
            self.skip_to_connective();
            // The rest no longer belongs to the condition, but is parsed to report its errors.
            if matches!(self.kind(), TokenKind::And | TokenKind::Or) {
                self.take();
                condition = self.expression(BindingPower::Or);
            }
            is_whole = false;
        }
        if is_whole { condition } else { self.invalid(first) }
    }

    /// Parses operators that bind at least as tightly as `floor`.
    pub(super) fn expression(&mut self, floor: BindingPower) -> NodeId {
        let first = self.span();
        let mut left = self.prefix();
        while let Some(power) = self.infix(0) {
            if power < floor {
                break;
            }
            left = match power {
                BindingPower::Or | BindingPower::And => self.junction(left, first, power),
                BindingPower::Test => self.test(left, first),
                BindingPower::Sum | BindingPower::Product | BindingPower::Operand => {
                    self.arithmetic(left, first)
                }
            };
        }
        left
    }

    /// Returns the precedence of the token `ahead` positions ahead as a binary operator, if it is one.
    pub(super) fn infix(&self, ahead: usize) -> Option<BindingPower> {
        use TokenKind as T;
        match self.peek(ahead).kind {
            T::Or => Some(BindingPower::Or),
            T::And => Some(BindingPower::And),
            T::Equal | T::NotEqual | T::Less | T::LessOrEqual | T::Greater | T::GreaterOrEqual => {
                Some(BindingPower::Test)
            }
            T::In | T::NotIn | T::Regex | T::NotRegex => Some(BindingPower::Test),
            T::Not if matches!(self.peek(ahead + 1).kind, T::In | T::Regex) => Some(BindingPower::Test),
            T::Name if self.is_word(ahead, "between") => Some(BindingPower::Test),
            T::Plus | T::Minus => Some(BindingPower::Sum),
            T::Star | T::Slash => Some(BindingPower::Product),
            _ => None,
        }
    }

    /// Parses `left and … and …`, or the same with `or`, into one node of any length.
    fn junction(&mut self, left: NodeId, first: Span, power: BindingPower) -> NodeId {
        let (word, tighter) = if power == BindingPower::Or {
            (TokenKind::Or, BindingPower::And)
        } else {
            (TokenKind::And, BindingPower::Test)
        };
        let mut parts = vec![left];
        while self.take_if(word).is_some() {
            parts.push(self.expression(tighter));
        }
        let kind = if power == BindingPower::Or { NodeKind::Any(parts) } else { NodeKind::All(parts) };
        self.add(kind, self.since(first))
    }

    fn arithmetic(&mut self, left: NodeId, first: Span) -> NodeId {
        let (operator, tighter) = match self.take().kind {
            TokenKind::Plus => (ArithmeticOperator::Add, BindingPower::Product),
            TokenKind::Minus => (ArithmeticOperator::Subtract, BindingPower::Product),
            TokenKind::Star => (ArithmeticOperator::Multiply, BindingPower::Operand),
            _ => (ArithmeticOperator::Divide, BindingPower::Operand),
        };
        let right = self.expression(tighter);
        self.add(NodeKind::Arithmetic { left, operator, right }, self.since(first))
    }

    /// Parses one test. A second test on its result is an error: comparisons do not chain.
    fn test(&mut self, left: NodeId, first: Span) -> NodeId {
        let chained = self.is_bare_test(left);
        if chained {
            self.complain(Code::ChainedComparison, |_| "comparisons cannot be chained".to_owned())
                .help(|| "join two tests with `and`, or write `between … and …`".to_owned());
        }
        let kind = self.test_of(left);
        let span = self.since(first);
        if chained { self.invalid(span) } else { self.add(kind, span) }
    }

    fn test_of(&mut self, value: NodeId) -> NodeKind {
        if self.kind() == TokenKind::Not {
            let word = if self.peek(1).kind == TokenKind::In { "in" } else { "regex" };
            self.complain(Code::ForeignOperator, |_| format!("`not {word}` is not part of this language"))
                .help(|| format!("write `not_{word}`"));
            self.take();
            self.complained_at = None;
            return self.list_or_pattern(value, true);
        }
        if let Some(operator) = comparison(self.kind()) {
            self.take();
            let right = self.expression(BindingPower::Sum);
            return NodeKind::Compare { left: value, operator, right };
        }
        match self.kind() {
            TokenKind::Name => self.between(value),
            kind => self.list_or_pattern(value, matches!(kind, TokenKind::NotIn | TokenKind::NotRegex)),
        }
    }

    fn list_or_pattern(&mut self, value: NodeId, negated: bool) -> NodeKind {
        if matches!(self.take().kind, TokenKind::In | TokenKind::NotIn) {
            return NodeKind::In { value, list: self.list(), negated };
        }
        let pattern = self.take_string();
        if pattern.is_none() {
            self.expected(Code::ExpectedPattern, "a pattern")
                .help(|| "a pattern is a string: `description regex \"(?i)gift ?card\"`".to_owned());
            self.expression(BindingPower::Sum);
        }
        NodeKind::Matches { value, pattern, negated }
    }

    fn between(&mut self, value: NodeId) -> NodeKind {
        self.take();
        let low = self.expression(BindingPower::Sum);
        if self.take_if(TokenKind::And).is_none() {
            self.expected(Code::IncompleteBetween, "`and` and the upper bound")
                .help(|| "both bounds are needed: `amount between 10 and 20`".to_owned());
            return NodeKind::Invalid;
        }
        let high = self.expression(BindingPower::Sum);
        NodeKind::Between { value, low, high }
    }

    fn is_bare_test(&self, id: NodeId) -> bool {
        self.rule.nodes.get(id.0).is_some_and(|node| node.kind.is_test() && !node.grouped)
    }

    /// Parses `not`, signs and parentheses, and their operands.
    fn prefix(&mut self) -> NodeId {
        let first = self.span();
        match self.kind() {
            TokenKind::Not => self.prefixed(TokenKind::Not, first),
            TokenKind::Minus => self.prefixed(TokenKind::Minus, first),
            TokenKind::LeftParenthesis => self.group(first),
            _ => self.operand(),
        }
    }

    fn prefixed(&mut self, sign: TokenKind, first: Span) -> NodeId {
        let mut n_signs = 0;
        while self.take_if(sign).is_some() {
            n_signs += 1;
        }
        if !self.enter(n_signs, first) {
            self.leave(n_signs);
            return self.invalid(first);
        }
        let floor = if sign == TokenKind::Not { BindingPower::Test } else { BindingPower::Operand };
        let mut id = self.expression(floor);
        self.leave(n_signs);
        let span = self.since(first);
        for _ in 0..n_signs {
            let kind = if sign == TokenKind::Not { NodeKind::Not(id) } else { NodeKind::Negate(id) };
            id = self.add(kind, span);
        }
        id
    }

    fn group(&mut self, first: Span) -> NodeId {
        self.take();
        if !self.enter(1, first) {
            self.leave(1);
            return self.invalid(first);
        }
        let inner = self.expression(BindingPower::Or);
        self.leave(1);
        if self.take_if(TokenKind::RightParenthesis).is_none() {
            self.unclosed_parenthesis(first);
            self.distrust_end_of(inner);
            return self.invalid(self.since(first));
        }
        let span = self.since(first);
        if let Some(node) = self.rule.nodes.get_mut(inner.0) {
            node.grouped = true;
            node.span = span;
        }
        inner
    }
}

fn comparison(kind: TokenKind) -> Option<Comparison> {
    match kind {
        TokenKind::Equal => Some(Comparison::Equal),
        TokenKind::NotEqual => Some(Comparison::NotEqual),
        TokenKind::Less => Some(Comparison::Less),
        TokenKind::LessOrEqual => Some(Comparison::LessOrEqual),
        TokenKind::Greater => Some(Comparison::Greater),
        TokenKind::GreaterOrEqual => Some(Comparison::GreaterOrEqual),
        _ => None,
    }
}

/// Returns the replacement for an operator of another language.
fn foreign_connective(word: &str) -> Option<String> {
    let cure = match word.to_ascii_lowercase().as_str() {
        "contains" | "matches" | "like" | "starts_with" | "startswith" | "ends_with" | "endswith" => {
            "search texts with a pattern: `description regex \"gift\"`"
        }
        "is" | "eq" | "equals" => "write `==`",
        "isnt" | "ne" => "write `!=`",
        "gt" => "write `>`",
        "gte" => "write `>=`",
        "lt" => "write `<`",
        "lte" => "write `<=`",
        "score" | "reason" => "write `then` and a verdict first: `then review score 0.5 reason \"…\"`",
        ")" => "it has no matching `(`",
        _ => return None,
    };
    Some(cure.to_owned())
}
