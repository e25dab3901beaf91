//! Rules that take as long as they can.

use serde_json::{Value, json};
use tollgate_tests::{modules, sample};

/// Rules, and what other clients send meanwhile.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) scripts: Vec<String>,
    pub(crate) modules: Vec<Vec<u8>>,
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
    let of = |name, scripts| Attack { name, scripts, modules: Vec::new(), sends: nothing_special };
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
