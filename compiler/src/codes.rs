//! The register of diagnostic codes.
//!
//! A code is for ever: it is never given another meaning and never given again. A new one takes the next free number of
//! its hundred and a section in `docs/diagnostics.md`; a test holds register and page together. `E` is an error, `W` a
//! warning; 1 is about characters, 2 about the shape of a rule, 3 about conditions, 4 about functions, 5 about sense.

use std::fmt;

use serde::{Serialize, Serializer};

/// Whether a complaint keeps the rule from being saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// There is no rule.
    Error,
    /// There is one, but it may not say what its author means.
    Warning,
}

macro_rules! register {
    ($($(#[doc = $meaning:literal])+ $name:ident = $code:literal,)+) => {
        /// What is wrong, as a machine may ask for it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $meaning])+ $name,)+
        }

        impl Code {
            /// Every code, in the order of the register.
            pub const ALL: &[Code] = &[$(Code::$name,)+];

            /// As answers and `docs/diagnostics.md` write it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Code::$name => $code,)+
                }
            }
        }
    };
}

register! {
    /// The script is longer than a script may be.
    ScriptTooLong = "E101",
    /// A control character, or one that turns the direction of writing.
    ForbiddenCharacter = "E102",
    /// A character no token begins with.
    UnexpectedCharacter = "E103",
    /// A string without its closing quote.
    UnterminatedString = "E104",
    /// A number in a form the language does not have.
    MalformedNumber = "E105",
    /// A number with more digits than are kept.
    NumberTooLong = "E106",
    /// An operator of another language.
    ForeignOperator = "E107",
    /// The rest of the errors is not shown.
    TooManyErrors = "E108",

    /// A script begins with `rule`.
    ExpectedRule = "E201",
    /// `rule` is followed by a name.
    ExpectedRuleName = "E202",
    /// The name is followed by a brace.
    ExpectedOpeningBrace = "E203",
    /// The rule is not closed.
    MissingClosingBrace = "E204",
    /// One rule per script, and nothing after it.
    TextAfterRule = "E205",
    /// Neither `description`, `when` nor `then`, or in the wrong place.
    UnexpectedClause = "E206",
    /// A clause given twice.
    RepeatedClause = "E207",
    /// A rule without `when` or without `then`.
    MissingClause = "E208",
    /// `description` is followed by a string in double quotes.
    ExpectedDescription = "E209",
    /// `then` is followed by a verdict.
    ExpectedVerdict = "E210",
    /// `score` is followed by a number.
    ExpectedScore = "E211",
    /// `reason` is followed by a string in double quotes.
    ExpectedReason = "E212",
    /// Only `score` and `reason` follow the verdict.
    UnexpectedInThen = "E213",
    /// A score or a reason given twice.
    RepeatedInThen = "E214",
    /// A score outside 0 to 1.
    ScoreOutOfRange = "E215",
    /// A name, description or reason over its limit.
    TextTooLong = "E216",

    /// A value or a condition should stand here.
    ExpectedOperand = "E301",
    /// Two tests without `and` or `or` between them.
    ExpectedConnective = "E302",
    /// A parenthesis is not closed.
    MissingClosingParenthesis = "E303",
    /// `a < b < c`
    ChainedComparison = "E304",
    /// Parentheses, `not` and signs within one another beyond the limit.
    NestedTooDeeply = "E305",
    /// A condition with too many parts.
    ConditionTooLarge = "E306",
    /// A dot without a key behind it, or a malformed path.
    ExpectedKey = "E307",
    /// A `$` that names nothing.
    MalformedReference = "E308",
    /// A path with too many keys.
    PathTooLong = "E309",
    /// `in` and `not_in` are followed by a list.
    ExpectedList = "E310",
    /// A list without an item.
    EmptyList = "E311",
    /// A list or a match pair takes literals and `$current` fields.
    ExpectedItem = "E312",
    /// A list with too many items.
    ListTooLong = "E313",
    /// `regex` and `not_regex` are followed by a string.
    ExpectedPattern = "E314",
    /// A pattern that the engine does not take.
    PatternRefused = "E315",
    /// A rule with too many different patterns.
    TooManyPatterns = "E316",
    /// `between` needs two bounds with `and` between them.
    IncompleteBetween = "E317",
    /// A value where a condition should stand.
    NotACondition = "E318",
    /// A condition where a value should stand.
    NotAValue = "E319",
    /// A test whose answer is in the script already.
    LiteralsCompared = "E320",
    /// Arithmetic with something that is no number.
    NotANumber = "E321",
    /// A named list where a value should stand.
    ListAsValue = "E322",

    /// No function has this name.
    UnknownFunction = "E401",
    /// A question to the history inside the filter of another one.
    HistoryInsideFilter = "E402",
    /// An aggregate is not written as aggregates are.
    MalformedAggregate = "E403",
    /// `distinct` needs to be told of what.
    MissingValueField = "E404",
    /// A window is a text such as `"PT1H"`.
    MalformedWindow = "E405",
    /// A time function takes a field, and perhaps a time zone.
    MalformedTimeCall = "E406",
    /// No time zone has this name.
    UnknownTimeZone = "E407",
    /// `previous_transaction` is not written as it is.
    MalformedPrevious = "E408",
    /// `previous_transaction` needs `within` and `match`.
    MissingArgument = "E409",
    /// `previous_transaction` has no such argument.
    UnknownArgument = "E410",
    /// An argument given twice.
    RepeatedArgument = "E411",
    /// A `match` without a pair.
    EmptyMatch = "E412",
    /// `previous_transaction` compared with something but `true` and `false`.
    PreviousCompared = "E413",
    /// A rule with too many different questions to the history.
    TooManyLookups = "E414",

    /// `and` and `or` side by side without parentheses.
    MixedConnectives = "W501",
    /// A bare name on the right that is no field.
    BareName = "W502",
    /// A named list nobody has set.
    UnknownList = "W503",
    /// A condition that cannot hold.
    NeverTrue = "W504",
    /// A condition that always holds.
    AlwaysTrue = "W505",
    /// The same condition twice.
    RepeatedCondition = "W506",
    /// A field that transactions do not have.
    UnknownField = "W507",
    /// An aggregate over a field that is never a number.
    NeverANumber = "W508",
}

impl Code {
    /// Whether it keeps the rule from being saved.
    #[must_use]
    pub fn severity(self) -> Severity {
        if self.as_str().starts_with('W') { Severity::Warning } else { Severity::Error }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
