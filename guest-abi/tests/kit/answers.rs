//! Named numeric results of host calls, with the descriptions of `docs/abi.md`.

use tollgate_guest_abi::imports::{kind, relation, test};

/// One result value.
pub(crate) struct Answer {
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    pub(crate) value: i32,
    pub(crate) about: &'static str,
}

const fn answer(group: &'static str, name: &'static str, value: i32, about: &'static str) -> Answer {
    Answer { group, name, value, about }
}

/// Every named result, grouped by kind.
pub(crate) const ANSWERS: [Answer; 14] = [
    answer("KIND", "MISSING", kind::MISSING, "the value is missing"),
    answer("KIND", "BOOLEAN", kind::BOOLEAN, "`true` or `false`"),
    answer("KIND", "NUMBER", kind::NUMBER, "a JSON number"),
    answer("KIND", "TEXT", kind::TEXT, "a text"),
    answer("KIND", "TIME", kind::TIME, "a date-time field"),
    answer("KIND", "STRUCTURE", kind::STRUCTURE, "an object or an array"),
    answer("RELATION", "EQUAL", relation::EQUAL, "`==`"),
    answer("RELATION", "NOT_EQUAL", relation::NOT_EQUAL, "`!=`"),
    answer("RELATION", "LESS", relation::LESS, "`<` and `<=`"),
    answer("RELATION", "GREATER", relation::GREATER, "`>` and `>=`"),
    answer("RELATION", "LEVEL", relation::LEVEL, "`<=` and `>=`"),
    answer(
        "TEST",
        "MISSING",
        test::MISSING,
        "the value, or the list, is missing: neither the test nor its opposite holds",
    ),
    answer("TEST", "NO", test::NO, "the opposite holds"),
    answer("TEST", "YES", test::YES, "the test holds"),
];
