//! The vocabulary of generated rules and transactions.

use super::dice::Dice;

/// Named lists in force.
pub(super) const LISTS: [(&str, &[&str]); 3] = [
    ("watched", &["EUR", "a", "42", "true", "Applied", "9007199254740993", "4111111111111111111"]),
    ("numbers", &["0042", "5", "99.99", "9007199254740992", "01000000000000000001", "0.1"]),
    ("nobody", &[]),
];
/// Named lists that scripts refer to. All are defined: a rule with an undefined list fails, which other tests cover.
pub(super) const LIST_NAMES: [&str; 4] = ["watched", "watched", "numbers", "nobody"];

/// Texts for text fields, metadata and scripts.
const TEXTS: [&str; 20] = [
    "settled", "other", "a", "b", "A", "EUR", "USD", "eur", "42", "0042", "042.0", "5", "-1", "true",
    "false", "True", "applied", "APPLIED", "failed", "Failed",
];
/// Unsigned numbers as scripts write them.
const NUMBERS: [&str; 15] =
    ["0", "1", "2", "3", "5", "5.0", "10", "42", "042", "42.5", "99.99", "0.1", "0.30", "100", "1000"];
/// The same numbers and a few more, as JSON writes them.
const JSON_NUMBERS: [&str; 16] = [
    "0", "0.0", "1", "2", "5", "5.00", "10", "42", "42.0", "42.5", "99.99", "0.1", "0.3", "-1", "100", "1e3",
];

/// Clusters of numbers of 15 to 38 digits that map to the same double, and two small ones.
const LONG_NUMBERS: [&str; 24] = [
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993",
    "9007199254740992.5",
    "18014398509481985",
    "18014398509481984",
    "4111111111111111111",
    "4111111111111111112",
    "1000000000000000000",
    "1000000000000000001",
    "1000000000000000000.000000000000000001",
    "999999999999999.9",
    "1000000000000000",
    "0.1",
    "0.10000000000000001",
    "0.1000000000000000055511151231257827",
    "0.09999999999999999999",
    "12345678901234567890123456789012345678",
    "12345678901234567890123456789012345679",
    "0.00000000000000000000000000000000000001",
    "123456789012345",
    "42",
    "0",
];
/// Long numbers as JSON, some with an exponent.
const LONG_JSON_NUMBERS: [&str; 8] = [
    "9.007199254740993e15",
    "1e18",
    "1.000000000000000001e18",
    "9007199254740993.0",
    "-9007199254740993",
    "1E-1",
    "10000000000000001e-17",
    "4111111111111111112",
];
/// Texts used with long numbers: such numbers in other spellings, and texts that are not numbers.
const LONG_TEXTS: [&str; 8] = [
    "09007199254740993",
    "9007199254740992.0",
    "1000000000000000001.00",
    "123456789012345678901234567890123456789",
    "a",
    "EUR",
    "true",
    "9 007 199 254 740 993",
];

/// Returns a number as scripts write it.
pub(super) fn number(dice: &mut Dice) -> &'static str {
    if dice.has_long_numbers { dice.pick(LONG_NUMBERS) } else { dice.pick(NUMBERS) }
}

/// Returns a number as JSON writes it.
pub(super) fn json_number(dice: &mut Dice) -> &'static str {
    let is_long = dice.has_long_numbers;
    match is_long {
        true if dice.chance(25) => dice.pick(LONG_JSON_NUMBERS),
        true => dice.pick(LONG_NUMBERS),
        false if dice.chance(25) => "0.1",
        false => dice.pick(JSON_NUMBERS),
    }
}

/// Returns a text for a text field, metadata or a script.
pub(super) fn text(dice: &mut Dice) -> &'static str {
    let is_long = dice.has_long_numbers;
    match is_long {
        true if dice.chance(40) => dice.pick(LONG_TEXTS),
        true => dice.pick(LONG_NUMBERS),
        false => dice.pick(TEXTS),
    }
}

/// Returns a value to compare an aggregate with, other than a count.
pub(super) fn total(dice: &mut Dice) -> &'static str {
    if dice.has_long_numbers {
        dice.pick(LONG_NUMBERS)
    } else {
        dice.pick(["0.3", "0.2", "0.4", "42", "84", "100", "21"])
    }
}

pub(super) const TEXT_FIELDS: [&str; 9] = [
    "source",
    "destination",
    "currency",
    "status",
    "stage",
    "reference",
    "description",
    "hash",
    "transaction_id",
];
pub(super) const FLAGS: [&str; 4] = ["allow_overdraft", "inflight", "skip_queue", "atomic"];
pub(super) const TIMES: [&str; 5] =
    ["timestamp", "created_at", "effective_date", "scheduled_for", "inflight_expiry_date"];
/// Paths into metadata, in both spellings. Some lead through scalars, some nowhere.
pub(super) const METADATA: [&str; 16] = [
    "metadata.\"a-b\"",
    "metadata.\"n.x\"",
    "metadata.a",
    "meta_data.a",
    "metadata.a",
    "metadata.b",
    "metadata.b",
    "metadata.n.x",
    "metadata.n.x",
    "meta_data.n.y.z",
    "metadata.when",
    "metadata.list",
    "metadata.n",
    "metadata.a.b",
    "metadata.score",
    "metadata.absent",
];
/// Field names that no transaction has.
pub(super) const UNKNOWN: [&str; 2] = ["colour", "amount.value"];

/// Instants, some of them equal.
pub(super) const INSTANTS: [&str; 6] = [
    "2026-03-01T00:00:00Z",
    "2026-03-01T02:00:00+02:00",
    "2026-03-01T01:00:00.000Z",
    "2026-02-28T23:59:59.999999Z",
    "2026-03-07T12:30:00-05:00",
    "2024-12-31T23:30:00Z",
];
/// Times as metadata and scripts state them: instants, dates, and times that omit a part.
pub(super) const TIME_TEXTS: [&str; 10] = [
    "2026-03-01T00:00:00Z",
    "2026-03-01T02:00:00+02:00",
    "2026-02-28T23:59:59.999999Z",
    "2024-12-31T23:30:00Z",
    "2026-03-01",
    "2026-03-01",
    "2026-03-07",
    "2026-03-01T00:00:00",
    "2026-03-01 00:00",
    "01.03.2026",
];
pub(super) const ZONES: [&str; 4] = ["Africa/Lagos", "America/New_York", "Asia/Kolkata", "UTC"];
pub(super) const DAYS: [&str; 6] = ["Sunday", "monday", "SATURDAY", "Friday", "wednesday", "Tuesday"];
pub(super) const WINDOWS: [&str; 7] = ["PT15M", "PT1H", "PT1H", "P1D", "P7D", "PT30S", "PT1H0M1S"];
/// Distances in seconds at the edges of those windows.
pub(super) const DISTANCES: [i64; 12] =
    [0, 0, 1, 30, 899, 900, 3_600, 3_601, 7_200, 86_400, 604_800, 700_000];
/// Patterns as scripts write them between quotes.
pub(super) const PATTERNS: [&str; 12] = [
    "^4",
    "2$",
    "(?i)eur",
    "^[A-Z]{3}$",
    r"\d+",
    r"\\d\\d",
    "00",
    "a|b",
    "^-",
    r"\.",
    "T0[0-2]:",
    "^(true|applied)$",
];
