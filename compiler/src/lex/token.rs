//! Tokens of the language.

use logos::{Lexer, Logos};

use crate::lex::string;
use crate::span::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
    /// Whether the lexer has reported an error in it.
    pub(crate) reported: bool,
}

/// The kind of a token. Reserved words have their own kinds. Words that are reserved only in some contexts (`score`,
/// `reason`, `where`, `between`, verdicts, functions) are names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Rule,
    Description,
    When,
    Then,
    And,
    Or,
    Not,
    In,
    NotIn,
    Regex,
    NotRegex,
    True,
    False,
    Name,
    Number,
    /// In double quotes.
    Text,
    /// In single quotes.
    SingleQuoted,
    LeftBrace,
    RightBrace,
    LeftParenthesis,
    RightParenthesis,
    Comma,
    Colon,
    Dot,
    Dollar,
    Plus,
    Minus,
    Star,
    Slash,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Already reported; accepted in any context.
    Invalid,
    /// An unclosed string, already reported; it extends to the end of the script.
    Unterminated,
    /// The end of the script.
    End,
}

impl TokenKind {
    /// Returns whether it may follow a dot.
    pub(crate) const fn is_key(self) -> bool {
        self.is_word() || matches!(self, TokenKind::Text)
    }

    pub(crate) const fn is_word(self) -> bool {
        use TokenKind::{
            And, Description, False, In, Name, Not, NotIn, NotRegex, Or, Regex, Rule, Then, True, When,
        };
        matches!(
            self,
            Name | Rule
                | Description
                | When
                | Then
                | And
                | Or
                | Not
                | In
                | NotIn
                | Regex
                | NotRegex
                | True
                | False
        )
    }

    pub(crate) const fn is_string(self) -> bool {
        matches!(self, TokenKind::Text | TokenKind::SingleQuoted | TokenKind::Unterminated)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum LexError {
    #[default]
    Stray,
    Unterminated,
}

/// Lexemes that the generated automaton distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Logos)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n]+")]
#[logos(skip(r"(//|#)[^\n]*", allow_greedy = true))]
pub(super) enum Raw {
    #[token("rule", |_| TokenKind::Rule, ignore(case))]
    #[token("description", |_| TokenKind::Description, ignore(case))]
    #[token("when", |_| TokenKind::When, ignore(case))]
    #[token("then", |_| TokenKind::Then, ignore(case))]
    #[token("and", |_| TokenKind::And, ignore(case))]
    #[token("or", |_| TokenKind::Or, ignore(case))]
    #[token("not", |_| TokenKind::Not, ignore(case))]
    #[token("in", |_| TokenKind::In, ignore(case))]
    #[token("not_in", |_| TokenKind::NotIn, ignore(case))]
    #[token("regex", |_| TokenKind::Regex, ignore(case))]
    #[token("not_regex", |_| TokenKind::NotRegex, ignore(case))]
    #[token("true", |_| TokenKind::True, ignore(case))]
    #[token("false", |_| TokenKind::False, ignore(case))]
    #[regex("[A-Za-z_][A-Za-z0-9_]*", |_| TokenKind::Name)]
    #[token("\"", |lexer| quoted(lexer, '"', TokenKind::Text))]
    #[token("'", |lexer| quoted(lexer, '\'', TokenKind::SingleQuoted))]
    #[token("{", |_| TokenKind::LeftBrace)]
    #[token("}", |_| TokenKind::RightBrace)]
    #[token("(", |_| TokenKind::LeftParenthesis)]
    #[token(")", |_| TokenKind::RightParenthesis)]
    #[token(",", |_| TokenKind::Comma)]
    #[token(":", |_| TokenKind::Colon)]
    #[token(".", |_| TokenKind::Dot)]
    #[token("$", |_| TokenKind::Dollar)]
    #[token("+", |_| TokenKind::Plus)]
    #[token("-", |_| TokenKind::Minus)]
    #[token("*", |_| TokenKind::Star)]
    #[token("/", |_| TokenKind::Slash)]
    #[token("==", |_| TokenKind::Equal)]
    #[token("!=", |_| TokenKind::NotEqual)]
    #[token("<", |_| TokenKind::Less)]
    #[token("<=", |_| TokenKind::LessOrEqual)]
    #[token(">", |_| TokenKind::Greater)]
    #[token(">=", |_| TokenKind::GreaterOrEqual)]
    Token(TokenKind),

    /// Every lexeme that begins like a number, well-formed or not.
    #[regex("[0-9][0-9A-Za-z_.]*")]
    Number,

    /// Operators of other languages.
    #[regex(r"=|===|!|!==|<>|=>|=<|&&?|\|\|?|\[|\]|;|%|\^|~|\?|@")]
    Foreign,
}

/// Extends the lexeme to the closing quote, after the opening one.
fn quoted(lexer: &mut Lexer<'_, Raw>, quote: char, kind: TokenKind) -> Result<TokenKind, LexError> {
    match string::length_to_close(lexer.remainder(), quote) {
        Some(n_bytes) => {
            lexer.bump(n_bytes);
            Ok(kind)
        }
        None => {
            lexer.bump(lexer.remainder().len());
            Err(LexError::Unterminated)
        }
    }
}
