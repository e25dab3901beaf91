//! Operations of the host, each as a rule whose condition consists of little else.

use serde_json::{Value as Json, json};

/// Length of the long descriptions of past transactions, in bytes.
pub(crate) const PAST_LONG_TEXT: usize = 2_000;

/// An operation, as a rule that consists of it.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// The condition of the rule.
    pub(crate) when: String,
    /// Fields of the `n`th transaction evaluated.
    pub(crate) asked: fn(usize) -> Json,
}

/// A module that writes a byte of its memory at regular distances.
pub(crate) struct MemoryWrites {
    pub(crate) name: &'static str,
    /// Size of the memory in pages of 64 KiB.
    pub(crate) n_pages: u64,
    /// The distance in bytes.
    pub(crate) every: u64,
}

/// The system has pages of 4 KiB.
pub(crate) const MEMORY_WRITES: [MemoryWrites; 6] = [
    MemoryWrites { name: "memory: 1 page, one byte written", n_pages: 1, every: 65_536 },
    MemoryWrites { name: "memory: 16 pages, one byte written", n_pages: 16, every: 1 << 20 },
    MemoryWrites { name: "memory: 16 pages, all written", n_pages: 16, every: 4_096 },
    MemoryWrites { name: "memory: 16 pages, every other part written", n_pages: 16, every: 8_192 },
    MemoryWrites { name: "memory: 255 pages, one byte of each written", n_pages: 255, every: 65_536 },
    MemoryWrites { name: "memory: 255 pages, all written", n_pages: 255, every: 4_096 },
];

fn nothing(_: usize) -> Json {
    json!({})
}

fn busy(n: usize) -> Json {
    json!({"source": format!("busy-{}", n % 7)})
}

fn quiet(n: usize) -> Json {
    json!({"source": format!("quiet-{}", n * 613 % 40_000)})
}

fn long_texts(_: usize) -> Json {
    json!({"description": "0".repeat(4_000), "meta_data": {"other": "0".repeat(4_000)}})
}

fn binary(n: usize) -> Json {
    let digits = (0..4_000).map(|at| if (at * 7 + n * at * at).is_multiple_of(3) { '1' } else { '0' });
    json!({"description": digits.collect::<String>()})
}

fn accented(n: usize) -> Json {
    let digits = (0..2_000).map(|at| match (at * 7 + n * at * at) % 31 {
        0 => 'é',
        at if at.is_multiple_of(3) => '1',
        _ => '0',
    });
    json!({"description": digits.collect::<String>()})
}

fn many_keys(_: usize) -> Json {
    let keys = (0..1_000).map(|n| (format!("key{n:04}"), json!(n)));
    json!({"meta_data": keys.collect::<serde_json::Map<_, _>>()})
}

fn sixty_keys(_: usize) -> Json {
    let keys = (0..60).map(|n| (format!("key{n:04}"), json!(n)));
    json!({"meta_data": keys.collect::<serde_json::Map<_, _>>()})
}

fn sixty_texts(_: usize) -> Json {
    let keys = (0..60).map(|n| (format!("key{n:04}"), json!(format!("text {n}"))));
    json!({"meta_data": keys.collect::<serde_json::Map<_, _>>()})
}

fn array(n: usize) -> Json {
    json!({"source": format!("busy-{}", n % 7), "meta_data": {"tags": (0..1_000).map(|n| format!("tag-{n}")).collect::<Vec<_>>()}})
}

fn number(_: usize) -> Json {
    json!({"meta_data": {"spelled": 7}})
}

fn spelled(n: usize) -> Json {
    json!({"source": format!("busy-{}", n % 7), "meta_data": {"spelled": "0007", "one": "1"}})
}

fn dated(n: usize) -> Json {
    json!({"effective_date": format!("2026-03-{:02}T10:00:00Z", 1 + n % 28)})
}

/// Joins one condition for each number.
fn each(n: usize, separator: &str, condition: impl Fn(usize) -> String) -> String {
    (0..n).map(condition).collect::<Vec<_>>().join(separator)
}

/// A condition about one lookup that holds for no transaction.
fn lookup(question: &str) -> String {
    format!("{question} < 0")
}

type Row = (&'static str, String, fn(usize) -> Json);

/// Returns all operations.
pub(crate) fn operations() -> Vec<Operation> {
    let rows = [calls(), texts(), searches(), lookups(), rows_tested(), distinct()];
    let of = |(name, when, asked): Row| Operation { name, when, asked };
    rows.into_iter().flatten().map(of).collect()
}

fn calls() -> Vec<Row> {
    vec![
        (
            "field read as a number, 60 fields",
            each(60, " or ", |n| format!("metadata.key{n:04} < 0")),
            sixty_keys,
        ),
        (
            "field read as a text, 60 fields",
            each(60, " or ", |n| format!("metadata.key{n:04} == \"x\"")),
            sixty_texts,
        ),
        (
            "field below 1,000 keys, 60 fields",
            each(60, " or ", |n| format!("metadata.key{:04} < 0", n * 16)),
            many_keys,
        ),
        (
            "two fields compared, 30 pairs",
            each(30, " or ", |n| format!("metadata.key{n:04} == metadata.key{:04}", n + 30)),
            sixty_keys,
        ),
        (
            "arithmetic of fields, 60 operations",
            each(30, " or ", |n| format!("metadata.key{n:04} * metadata.key{:04} < 0", n + 30)),
            sixty_keys,
        ),
        (
            "part of a date-time, 12 zones",
            each(12, " or ", |n| format!("hour_of_day(effective_date, \"Etc/GMT+{}\") == {}", n + 1, 30 + n)),
            dated,
        ),
        (
            "week of a date-time in a zone with summer time",
            "week_of_year(effective_date, \"Europe/Paris\") == 60".to_owned(),
            dated,
        ),
        (
            "membership in a written list, 40 lists",
            each(40, " or ", |n| format!("metadata.key{n:04} in (\"a{n}\", \"b{n}\", \"c\")")),
            sixty_texts,
        ),
        (
            "membership in a named list, 40 values",
            each(40, " or ", |n| format!("metadata.key{n:04} in $many")),
            sixty_texts,
        ),
    ]
}

fn texts() -> Vec<Row> {
    vec![
        ("two texts of 4,000 digits compared", "description > metadata.other".to_owned(), long_texts),
        ("text of 4,000 digits beside a number", "description > 5".to_owned(), long_texts),
        ("membership in an array of 1,000 texts", "\"tag-x\" in $current.metadata.tags".to_owned(), array),
        ("field in an array of 1,000 texts", "source in $current.metadata.tags".to_owned(), array),
    ]
}

fn searches() -> Vec<Row> {
    vec![
        ("short text searched for a word", "source regex \"urgent|casino\"".to_owned(), busy),
        (
            "short text searched, word boundaries",
            "source regex \"(?i)\\\\b(safe account|inheritance|bail)\\\\b\"".to_owned(),
            busy,
        ),
        ("number searched", "amount regex \"^[0-9]+\\\\.99$\"".to_owned(), nothing),
        (
            "4,000 bytes searched, small automaton",
            "description regex \"\\\\b(?:[01]{1,200})x\"".to_owned(),
            binary,
        ),
        ("4,000 bytes searched, no prefix", "description regex \"[0-9]+[a-z]\"".to_owned(), binary),
        (
            "4,000 bytes, not ASCII, word boundary",
            "description regex \"\\\\b(?:[01]{1,100})x\"".to_owned(),
            accented,
        ),
        ("4,000 bytes, large automaton", "description regex \"(?:[01]*1[01]{13})2\"".to_owned(), binary),
        (
            "4,000 bytes, larger automaton",
            "description regex \"(?:[01]*1[01]{100})[2-9]\"".to_owned(),
            binary,
        ),
        (
            "4,000 bytes, larger automaton, not ASCII",
            "description regex \"(?:[01]*1[01]{60})2\\\\b\"".to_owned(),
            accented,
        ),
    ]
}

fn lookups() -> Vec<Row> {
    let same = "source == $current.source";
    vec![
        ("lookup of a quiet account", lookup(&format!("sum(amount when {same}, \"P30D\")")), quiet),
        ("cold: lookup of a quiet account", lookup(&format!("sum(amount when {same}, \"P30D\")")), quiet),
        ("lookup of a busy account", lookup(&format!("sum(amount when {same}, \"P30D\")")), busy),
        ("deviation, busy account", lookup(&format!("stddev(amount when {same}, \"P30D\")")), busy),
        (
            "maximum, window that cuts blocks",
            lookup(&format!("max(amount when {same}, \"P23DT13H11M\")")),
            busy,
        ),
        (
            "previous transaction by key",
            "not previous_transaction(within: \"P30D\", match: { source: \"$current.source\", currency: \"EUR\" })".to_owned(),
            quiet,
        ),
        (
            "equal keys of a number",
            lookup("count(when metadata.spelled == $current.metadata.spelled, \"P30D\")"),
            number,
        ),
        (
            "equal keys of texts that are numbers",
            lookup(
                "count(when metadata.spelled == $current.metadata.spelled and metadata.one == $current.metadata.one, \"P30D\")",
            ),
            spelled,
        ),
        (
            "aggregate in a list of 1,000",
            "count(when source == $current.source, \"P30D\") in $current.metadata.tags".to_owned(),
            array,
        ),
    ]
}

fn rows_tested() -> Vec<Row> {
    let same = "source == $current.source";
    let filter = |test: &str| lookup(&format!("count(when {same} and {test}, \"P30D\")"));
    vec![
        ("row: amount compared", filter("amount > $current.amount"), busy),
        ("row: 16 amounts compared", filter(&each(16, " and ", |n| format!("amount + {n} > $current.amount - {n}"))), busy),
        ("row: text compared", filter("reference != $current.reference"), busy),
        ("row: four texts compared", filter("reference != $current.reference and description != $current.reference and metadata.card != $current.reference and destination != $current.reference"), busy),
        ("row: long text compared", lookup(&format!("count(when {same} and description != $current.reference, \"P30D\")")), |_| json!({"source": "busy-7"})),
        ("row: number of metadata compared", filter("metadata.number > $current.amount"), busy),
        ("row: hour in a zone", filter("hour_of_day(created_at, \"Europe/Paris\") == hour_of_day($current.created_at, \"Europe/Paris\")"), busy),
        ("row: membership in an array of 1,000", filter("destination in $current.metadata.tags"), array),
        ("row: structure compared", filter("metadata.order != $current.reference"), busy),
("row: previous transaction by date", "previous_transaction(within: \"P30D\", match: { source: \"$current.source\", effective_date: \"$current.effective_date\" })".to_owned(), |n| json!({"source": format!("busy-{}", n % 7), "effective_date": "2026-03-01T10:00:00Z"})),
    ]
}

fn distinct() -> Vec<Row> {
    let same = "source == $current.source";
    vec![
        ("distinct: all different", lookup(&format!("distinct(reference when {same}, \"P30D\")")), busy),
        ("distinct: 300 different", lookup(&format!("distinct(destination when {same}, \"P30D\")")), busy),
        ("distinct: one value", lookup(&format!("distinct(currency when {same}, \"P30D\")")), busy),
        (
            "distinct: filtered",
            lookup(&format!("distinct(metadata.card when {same} and amount > $current.amount, \"P30D\")")),
            busy,
        ),
        (
            "distinct: long texts",
            lookup(&format!("distinct(description when {same}, \"P30D\")")),
            |_| json!({"source": "busy-7"}),
        ),
        ("distinct: structures", lookup(&format!("distinct(metadata.order when {same}, \"P30D\")")), busy),
        ("distinct: numbers", lookup(&format!("distinct(amount when {same}, \"P30D\")")), busy),
    ]
}
