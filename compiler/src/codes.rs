//! The register of diagnostic codes.
//!
//! INVARIANT: a code never changes its meaning and is never reused.
//!
//! A new code takes the next free number of its hundred and a section in `docs/diagnostics.md`; a test compares the
//! two. `E` marks errors, `W` warnings. The first digit is the topic: 1 characters, 2 rule structure, 3 conditions, 4
//! functions, 5 warnings.

use std::fmt;

use serde::{Serialize, Serializer};

/// The severity of a diagnostic; `error` prevents the rule from being saved.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = DiagnosticSeverity))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The rule cannot be saved.
    Error,
    /// The rule can be saved, but may not do what its author intends.
    Warning,
}

macro_rules! register {
    ($($(#[doc = $meaning:literal])+ $name:ident = $code:literal,)+) => {
        /// A diagnostic code, for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $meaning])+ $name,)+
        }

        impl Code {
            /// Every code, in register order.
            pub const ALL: &[Code] = &[$(Code::$name,)+];

            /// Returns the code as written in responses and `docs/diagnostics.md`.
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
    /// The script exceeds the size limit.
    ScriptTooLong = "E101",
    /// A control character, or one that changes the text direction.
    ForbiddenCharacter = "E102",
    /// A character that begins no token.
    UnexpectedCharacter = "E103",
    /// A string without its closing quote.
    UnterminatedString = "E104",
    /// A number in an unsupported format.
    MalformedNumber = "E105",
    /// A number with too many digits.
    NumberTooLong = "E106",
    /// An operator of another language.
    ForeignOperator = "E107",
    /// Further errors are not shown.
    TooManyErrors = "E108",

    /// The script does not begin with `rule`.
    ExpectedRule = "E201",
    /// `rule` is not followed by a name.
    ExpectedRuleName = "E202",
    /// The name is not followed by a brace.
    ExpectedOpeningBrace = "E203",
    /// The rule is not closed.
    MissingClosingBrace = "E204",
    /// Text after the end of the rule; a script contains one rule.
    TextAfterRule = "E205",
    /// Not a `description`, `when` or `then` clause, or a clause in the wrong position.
    UnexpectedClause = "E206",
    /// A clause given twice.
    RepeatedClause = "E207",
    /// A rule without `when` or without `then`.
    MissingClause = "E208",
    /// `description` is not followed by a string in double quotes.
    ExpectedDescription = "E209",
    /// `then` is not followed by a verdict.
    ExpectedVerdict = "E210",
    /// `score` is not followed by a number.
    ExpectedScore = "E211",
    /// `reason` is not followed by a string in double quotes.
    ExpectedReason = "E212",
    /// Something other than `score` and `reason` after the verdict.
    UnexpectedInThen = "E213",
    /// A score or a reason given twice.
    RepeatedInThen = "E214",
    /// A score outside 0 to 1.
    ScoreOutOfRange = "E215",
    /// A name, description or reason that exceeds its limit.
    TextTooLong = "E216",

    /// A value or a condition is missing.
    ExpectedOperand = "E301",
    /// Two tests without `and` or `or` between them.
    ExpectedConnective = "E302",
    /// A parenthesis is not closed.
    MissingClosingParenthesis = "E303",
    /// `a < b < c`
    ChainedComparison = "E304",
    /// Parentheses, `not` and signs nested beyond the limit.
    NestedTooDeeply = "E305",
    /// A condition with too many nodes.
    ConditionTooLarge = "E306",
    /// A dot without a key after it, or a malformed path.
    ExpectedKey = "E307",
    /// A `$` without a valid name.
    MalformedReference = "E308",
    /// A path with too many keys.
    PathTooLong = "E309",
    /// `in` or `not_in` without a list.
    ExpectedList = "E310",
    /// A list without items.
    EmptyList = "E311",
    /// An item of a list or a match pair that is neither a literal nor a `$current` field.
    ExpectedItem = "E312",
    /// A list with too many items.
    ListTooLong = "E313",
    /// `regex` or `not_regex` without a string.
    ExpectedPattern = "E314",
    /// A pattern that the engine refuses.
    PatternRefused = "E315",
    /// A rule with too many different patterns.
    TooManyPatterns = "E316",
    /// `between` without two bounds joined by `and`.
    IncompleteBetween = "E317",
    /// A value in place of a condition.
    NotACondition = "E318",
    /// A condition in place of a value.
    NotAValue = "E319",
    /// A test that compares only literals.
    LiteralsCompared = "E320",
    /// Arithmetic with a non-number.
    NotANumber = "E321",
    /// A named list in place of a value.
    ListAsValue = "E322",

    /// An unknown function.
    UnknownFunction = "E401",
    /// A history lookup inside the filter of another one.
    HistoryInsideFilter = "E402",
    /// A malformed aggregate call.
    MalformedAggregate = "E403",
    /// `distinct` without a field.
    MissingValueField = "E404",
    /// A malformed window; a window is a text such as `"PT1H"`.
    MalformedWindow = "E405",
    /// A malformed call of a time function; it takes a field and optionally a time zone.
    MalformedTimeCall = "E406",
    /// An unknown time zone.
    UnknownTimeZone = "E407",
    /// A malformed call of `previous_transaction`.
    MalformedPrevious = "E408",
    /// `previous_transaction` without `within` or `match`.
    MissingArgument = "E409",
    /// An unknown argument of `previous_transaction`.
    UnknownArgument = "E410",
    /// An argument given twice.
    RepeatedArgument = "E411",
    /// A `match` without a pair.
    EmptyMatch = "E412",
    /// `previous_transaction` compared with something other than `true` and `false`.
    PreviousCompared = "E413",
    /// A rule with too many distinct history lookups.
    TooManyLookups = "E414",

    /// `and` and `or` mixed without parentheses.
    MixedConnectives = "W501",
    /// An unquoted name on the right side that is not a field.
    BareName = "W502",
    /// A named list that is not set.
    UnknownList = "W503",
    /// A condition that cannot hold.
    NeverTrue = "W504",
    /// A condition that always holds.
    AlwaysTrue = "W505",
    /// A repeated condition.
    RepeatedCondition = "W506",
    /// A field that transactions do not have.
    UnknownField = "W507",
    /// An aggregate over a field that is never a number.
    NeverANumber = "W508",
    /// A word beside `currency` that is no currency code.
    UnknownCurrency = "W509",
    /// A word beside `stage` that is no stage.
    UnknownStage = "W510",
    /// A part of a date-time that arithmetic moves out of its range.
    ShiftedTimePart = "W511",
}

impl Code {
    /// Returns whether this code is an error or a warning.
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
