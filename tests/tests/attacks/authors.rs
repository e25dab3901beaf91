//! Authors whose rules take as long, or as much memory, as they can. Clients send the same payments on both sides.

use serde_json::{Map, Value, json};
use tollgate_tests::{modules, proof, sample};

use super::{Actor, Attack, Rules, Side};

/// Keys of a wide object.
const N_KEYS: usize = 1_000;

pub(crate) fn nothing_special(name: &'static str) -> Attack {
    Attack {
        name,
        configure: |_| {},
        prepare: |_| {},
        rules: |_| Rules::default(),
        n_clients: 2,
        act: |_| {},
        judge: |_| Vec::new(),
    }
}

/// Returns a text of digits that is a small number with many zeros before it.
pub(crate) fn zeros(n: usize) -> String {
    format!("{}{n}", "0".repeat(60_000))
}

/// Returns an object of some 55 KB.
pub(crate) fn wide(n: usize) -> Value {
    let entry = |key: usize| (format!("key_{key:04}"), json!(format!("{n}-{}", "v".repeat(35))));
    Value::Object((0..N_KEYS).map(entry).collect::<Map<_, _>>())
}

/// Returns the scripts of rules with these conditions, of the hostile or the harmless side.
fn scripts(n_rules: usize, condition: impl Fn(usize) -> String) -> Rules {
    let script = |n| sample::rule(&format!("author_{n}"), &condition(n));
    Rules { scripts: (0..n_rules).map(script).collect(), modules: Vec::new() }
}

fn by_long_numbers(side: Side) -> Rules {
    let field = if side == Side::Hostile { "meta_data.note" } else { "meta_data.some" };
    scripts(16, |n| {
        format!(
            r#"{field} == {n} or count(when {field} == {} and amount > {n}, "P30D") > 1000000"#,
            1_000 + n
        )
    })
}

fn by_wide_objects(side: Side) -> Rules {
    let field = if side == Side::Hostile { "meta_data.wide" } else { "meta_data.some" };
    scripts(64, |n| {
        let compared = format!(r#"{field}.key_{n:04} == "none""#);
        format!(r#"{compared} or count(when {field} == $current.{field} and amount > {n}, "P30D") > 1000000"#)
    })
}

/// A module with 16 pages of 64 KiB that writes into as many blocks of 4 KiB.
fn touching(name: &str, n_blocks: usize) -> Vec<u8> {
    let text = format!(
        r#"(module (memory (export "memory") 16)
          (func (export "evaluate") (result i64) (local $n i32)
            (local.set $n (i32.const {n_blocks}))
            (loop $again
              (i32.store (i32.mul (local.get $n) (i32.const 4096)) (i32.const 1))
              (local.set $n (i32.sub (local.get $n) (i32.const 1)))
              (br_if $again (i32.gt_s (local.get $n) (i32.const 0))))
            (i64.const 0)))"#
    );
    modules::with_manifest(&modules::of_text(&text), &modules::manifest(name))
}

fn by_pages(side: Side) -> Rules {
    let n_blocks = if side == Side::Hostile { 255 } else { 1 };
    let modules = (0..100).map(|n| touching(&format!("touching_{n}"), n_blocks)).collect();
    Rules { scripts: Vec::new(), modules }
}

fn by_reasons(side: Side) -> Rules {
    let least = if side == Side::Hostile { "0.00000" } else { "1000000" };
    let reason = "r".repeat(1_000);
    let script = |n| {
        format!(
            "rule author_{n} {{\n  description \"{reason}\"\n  when amount > {least}\n  then alert score 0.1 reason \"{reason}\"\n}}\n"
        )
    };
    Rules { scripts: (0..400).map(script).collect(), modules: Vec::new() }
}

/// Fields with a new value in every payment.
const N_FRESH_FIELDS: usize = 16;

/// A rule whose keys outgrow the memory of the history, and small ones saved after it.
fn by_memory(side: Side) -> Rules {
    let place = if side == Side::Hostile { "meta_data" } else { "meta_data.some" };
    let few = |n: usize| {
        format!(r#"count(when destination == $current.destination and amount > {n}, "P1D") > 1000000"#)
    };
    let many = (0..N_FRESH_FIELDS)
        .map(|n| format!(r#"count(when {place}.fresh_{n} == $current.{place}.fresh_{n}, "P30D") > 1000000"#));
    let many = many.collect::<Vec<_>>().join(" or ");
    scripts(7, |n| if n == 0 { many.clone() } else { few(n) })
}

/// Payments with new values in many fields. At the end the rule that asks about them is suspended, or it was refused when
/// it was saved.
fn outgrow_memory(actor: &Actor<'_>) {
    let fresh = |n: usize| {
        let field = |field: usize| (format!("fresh_{field}"), json!(format!("{}-{n}-{field}", actor.name)));
        json!({"meta_data": Value::Object((0..N_FRESH_FIELDS).map(field).collect::<Map<_, _>>())})
    };
    actor.pay(200, fresh);
    if !proof::is_full() || actor.side == Side::Harmless {
        return;
    }
    let all = actor.service.get("/instructions/summaries").json();
    let status = |name: &str| {
        all.as_array().unwrap().iter().find(|rule| rule["name"] == name).map(|rule| rule["status"].clone())
    };
    let is_first_block = actor.name.starts_with("0-");
    assert!(status("author_0").map_or(!is_first_block, |status| status == "suspended"), "{all}");
    for n in 1..7 {
        assert_eq!(status(&format!("author_{n}")), Some(json!("active")), "{n}");
    }
}

/// Rules that are saved and removed while payments flow. The harmless author saves what is there already.
fn change_rules(actor: &Actor<'_>) {
    let client = actor.service.client();
    let fields = ["source", "destination", "reference", "meta_data.card", "meta_data.device"];
    let mut n_saved = 0;
    actor.each(20, |n| {
        let kind = if actor.side == Side::Hostile { n } else { 0 };
        // The harmless rule stays, so a hostile one has another name.
        let name = format!("changed_{:?}_{}", actor.side, actor.number).to_lowercase();
        let field = fields[kind % fields.len()];
        let condition = format!(
            r#"count(when {field} == $current.{field}, "P{}D") > {}"#,
            1 + kind % 300,
            1_000_000 + kind
        );
        let saved = client.save_without_waiting(&sample::rule(&name, &condition));
        assert!(saved.status < 500, "{}", saved.text());
        // Under a policy some are refused, because they come too often.
        if actor.side == Side::Hostile && saved.status == 201 {
            n_saved += 1;
            assert_eq!(client.delete(&format!("/instructions/{}", saved.at("/id"))).status, 204);
        }
    });
    assert!(n_saved > 0 || actor.side == Side::Harmless, "no rule was saved");
}

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            rules: by_long_numbers,
            act: |actor| actor.pay(10, |n| json!({"meta_data": {"note": zeros(n)}})),
            ..nothing_special("comparisons of long numeric texts")
        },
        Attack {
            rules: by_reasons,
            act: |actor| actor.pay(25, |n| json!({"source": format!("helper-{}", n % 100)})),
            ..nothing_special("reasons of 400 matching rules")
        },
        Attack {
            rules: by_wide_objects,
            act: |actor| actor.pay(10, |n| json!({"meta_data": {"wide": wide(n)}})),
            ..nothing_special("comparisons of wide objects")
        },
        Attack {
            rules: by_pages,
            act: |actor| actor.pay(25, |n| json!({"source": format!("helper-{}", n % 100)})),
            ..nothing_special("100 modules that touch their pages")
        },
        Attack {
            configure: |home| {
                home.set("SERVICE_MEMORY_LIMIT", "16MiB");
                home.set("SERVICE_KEYS_ON_DISK", "false");
            },
            rules: by_memory,
            n_clients: 8,
            act: outgrow_memory,
            ..nothing_special("a rule that outgrows the memory")
        },
        Attack { act: change_rules, ..nothing_special("rules that change all the time") },
    ]
}
