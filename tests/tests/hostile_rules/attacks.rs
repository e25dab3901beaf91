//! Rules that take as long as they can.

use serde_json::{Value, json};
use tollgate_tests::{modules, sample};

/// Rules, and what other clients send meanwhile.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) scripts: Vec<String>,
    pub(crate) modules: Vec<Vec<u8>>,
    /// Whether the history is still being read for the rules while others are served.
    pub(crate) is_filling: bool,
    /// Fields of the `n`th transaction of the clients that help the author.
    pub(crate) sends: fn(usize) -> Value,
}

fn nothing_special(n: usize) -> Value {
    json!({"source": format!("helper-{}", n % 100)})
}

/// Descriptions of 4 KiB, with which patterns take longest.
pub(crate) fn long_descriptions(n: usize) -> Value {
    let digits = (0..4_000).map(|at| if (at * 7 + n * at * at).is_multiple_of(3) { '1' } else { '0' });
    json!({"source": format!("helper-{}", n % 100), "description": digits.collect::<String>() + "é"})
}

fn spellings(n: usize) -> Value {
    let spelled = |n: usize| format!("{}1{}", "0".repeat(n % 40), [".0", ".00", ""][n % 3]);
    json!({"source": spelled(n), "meta_data": {"card": spelled(n / 7)}})
}

/// Names a rule of somebody else, who saves and removes it while the history is read for others.
pub(crate) fn trivial_module() -> Vec<u8> {
    let text = r#"(module (func (export "evaluate") (result i64) (i64.const 0)))"#;
    modules::with_manifest(&modules::of_text(text), &modules::manifest("trivial"))
}

/// Returns a question that needs a series of its own.
fn question(fields: &[&str]) -> String {
    let equal = fields.iter().map(|field| format!("{field} == $current.{field}"));
    format!(r#"count(when {}, "P30D") > 1000000"#, equal.collect::<Vec<_>>().join(" and "))
}

/// Conditions of three rules with 16 questions each, whose keys are different for every payment.
fn keys_of_every_payment() -> impl Iterator<Item = String> {
    let beside = ["currency", "source", "destination", "reference", "amount"];
    let sets = (1_u32..32).filter(|set| set.count_ones() <= 3);
    let keys = sets.flat_map(|set| {
        let others =
            beside.iter().enumerate().filter(move |(n, _)| set & (1 << n) != 0).map(|(_, field)| *field);
        ["transaction_id", "metadata.card"].map(|first| [first].into_iter().chain(others.clone()).collect())
    });
    let questions: Vec<String> = keys.map(|key: Vec<&str>| question(&key)).collect();
    questions.chunks(16).take(3).map(|asked| asked.join(" and ")).collect::<Vec<_>>().into_iter()
}

/// The condition of a rule for which ten series are filled.
fn ten_series() -> String {
    let beside = ["currency", "reference", "amount", "metadata.card"];
    let keys = ["source", "destination"].into_iter().flat_map(|first| beside.map(|other| vec![first, other]));
    let asked = keys.chain([vec!["source", "destination"], vec!["destination"]]);
    asked.map(|key| question(&key)).collect::<Vec<_>>().join(" or ")
}

fn scripts(conditions: impl Iterator<Item = String>) -> Vec<String> {
    conditions.enumerate().map(|(n, condition)| sample::rule(&format!("hostile_{n}"), &condition)).collect()
}

fn joined(n: usize, condition: impl Fn(usize) -> String) -> String {
    (0..n).map(condition).collect::<Vec<_>>().join(" or ")
}

/// A module that walks its memory until its fuel is nearly used up.
fn walking(name: &str) -> Vec<u8> {
    let text = r#"(module (memory (export "memory") 16)
        (func (export "evaluate") (result i64) (local $at i32) (local $n i32)
          (local.set $n (i32.const 60000))
          (loop $again
            (i32.store (local.get $at) (i32.const 1))
            (local.set $at (i32.and (i32.add (local.get $at) (i32.const 4160)) (i32.const 1048508)))
            (local.set $n (i32.sub (local.get $n) (i32.const 1)))
            (br_if $again (local.get $n)))
          (i64.const 0)))"#;
    modules::with_manifest(&modules::of_text(text), &modules::manifest(name))
}

/// Returns every attack.
pub(crate) fn attacks() -> Vec<Attack> {
    let of = |name, scripts| Attack {
        name,
        scripts,
        modules: Vec::new(),
        is_filling: false,
        sends: nothing_special,
    };
    let distinct = |window: usize| format!(r#"distinct(transaction_id when amount > 0, "P{window}D") < 0"#);
    let structures = |window: usize| format!(r#"distinct(metadata.o when amount > 0, "P{window}D") < 0"#);
    let scan = |window: usize| format!(r#"count(when amount > $current.amount, "P{window}D") < 0"#);
    let pattern = |n: usize| {
        format!(r#"count(when description regex "\\b(?:[01]{{1,{}}})[2-9]x", "P300D") < 0"#, 900 + n)
    };
    let searched = |n: usize| format!(r#"description regex "(?:[01]*1[01]{{{}}})[2-9]x""#, 300 + n);
    vec![
        of("distinct of all transactions", scripts([distinct(300)].into_iter())),
        of("15 such windows in a rule", scripts([joined(15, |n| distinct(300 + n))].into_iter())),
        of("distinct of large structures, 15 windows", scripts([joined(15, |n| structures(300 + n))].into_iter())),
        of("3 rules of 16 questions with a key for every payment", scripts(keys_of_every_payment())),
        Attack {
            is_filling: true,
            ..of("a rule that ten series are filled for", scripts([ten_series()].into_iter()))
        },
        of("a scan in each of 64 rules", scripts((0..64).map(|n| scan(300 + n)))),
        Attack {
            sends: long_descriptions,
            ..of("15 patterns in filters", scripts([joined(15, pattern)].into_iter()))
        },
        Attack {
            sends: long_descriptions,
            ..of("15 patterns in each of 8 rules", scripts((0..8).map(|rule| joined(15, |n| searched(16 * rule + n)))))
        },
        Attack {
            modules: (0..50).map(|n| walking(&format!("walking_{n}"))).collect(),
            ..of("50 modules that walk memory", Vec::new())
        },
        Attack {
            sends: spellings,
            ..of(
                "spellings of a number",
                scripts((0..8).map(|n| {
                    format!(
                        r#"count(when source == $current.source and metadata.card == $current.metadata.card, "P{}D") < 0"#,
                        30 + n
                    )
                })),
            )
        },
    ]
}
