//! Every structural limit of a module twice: reached, which is allowed, and exceeded by one, which is not.

use super::bytes::{NO, custom, evaluating, leb};
use super::guest::{Expected, Guest, assembled, manifest_of, with_manifest};

/// Name, limit, check that refuses more, and a function that creates a module with this many.
type Row = (&'static str, usize, &'static str, fn(usize) -> Vec<u8>);

const ROWS: [Row; 17] = [
    ("functions", 64, "functions", |n| text(&"(func)".repeat(n - 1))),
    ("types", 64, "types", |n| text(&"(type (func))".repeat(n - 1))),
    ("parameters", 16, "types", |n| text(&format!("(func (param{}))", " i32".repeat(n)))),
    ("imports", 32, "imports", |n| {
        text(&r#"(import "tollgate" "kind" (func (param i32) (result i32)))"#.repeat(n))
    }),
    ("globals", 64, "globals", |n| text(&"(global i32 (i32.const 0))".repeat(n))),
    ("exports", 16, "exports", |n| {
        text(&(1..n).map(|n| format!(r#"(global (export "g{n}") i32 (i32.const 0))"#)).collect::<String>())
    }),
    ("bytes_of_a_body", 16_384, "body", |n| evaluating(&[], &[vec![0x01; n - 4], NO.to_vec()].concat())),
    ("locals", 256, "locals", |n| evaluating(&[(n, 0x7e)], &NO)),
    ("locals_of_every_type", 256, "locals", |n| {
        evaluating(&[(n - 6, 0x7f), (1, 0x7e), (2, 0x7d), (0, 0x7c), (3, 0x7c)], &NO)
    }),
    ("locals_and_parameters", 256, "locals", |n| {
        text(&format!("(func (param{}) (local{}))", " i64".repeat(16), " f64".repeat(n - 16)))
    }),
    ("blocks", 1_024, "blocks", |n| evaluating(&[], &[[0x02, 0x40, 0x0b].repeat(n), NO.to_vec()].concat())),
    ("blocks_in_blocks", 64, "blocks", |n| {
        evaluating(&[], &[[0x03, 0x40].repeat(n), vec![0x0b; n], NO.to_vec()].concat())
    }),
    ("targets_of_branch_tables", 256, "branches", |n| {
        let table = [vec![0x02, 0x40, 0x41, 0, 0x0e], leb(n - 1), vec![0; n], vec![0x0b]].concat();
        evaluating(&[], &[table, NO.to_vec()].concat())
    }),
    ("segments_of_data", 16, "data", |n| {
        text(&[r#"(memory (export "memory") 1)"#, &r#"(data (i32.const 0) "x")"#.repeat(n)].concat())
    }),
    ("segments_of_elements", 16, "elements", |n| {
        text(&["(table 1 funcref)(func $f)", &"(elem (i32.const 0) $f)".repeat(n)].concat())
    }),
    ("elements_of_a_table", 1_024, "table", |n| text(&format!("(table {n} funcref)"))),
    ("pages_of_memory", 16, "memory", |n| text(&format!(r#"(memory (export "memory") {n})"#))),
];

const MODULE_BYTES_MAX: usize = 65_536;

/// Returns all modules of this file.
pub(crate) fn guests() -> Vec<Guest> {
    let pairs = ROWS.iter().flat_map(|(what, limit, check, module)| {
        let guest = |n: usize, expected| {
            let name = format!("a4_{n}_{what}");
            let bytes = with_manifest(&module(n), manifest_of(&name).to_string().as_bytes());
            Guest { name, bytes, expected }
        };
        let most = guest(*limit, Expected::Harmless("approve".to_owned()));
        [most, guest(limit + 1, Expected::refused(check))]
    });
    let largest = sized("a8_65536_bytes", MODULE_BYTES_MAX, Expected::Harmless("approve".to_owned()));
    let too_large = sized("a8_65537_bytes", MODULE_BYTES_MAX + 1, Expected::refused("size"));
    pairs.chain([largest, too_large]).collect()
}

/// Assembles a module with `evaluate` and these other items.
fn text(others: &str) -> Vec<u8> {
    let evaluate = r#"(func (export "evaluate") (result i64) (i64.const 0))"#;
    // Imports come first in the text.
    assembled("a limit", &format!("(module {others} {evaluate})"))
}

/// Returns a module of exactly this many bytes.
fn sized(name: &str, n_bytes: usize, expected: Expected) -> Guest {
    let module = evaluating(&[], &NO);
    let manifest = manifest_of(name).to_string();
    let bare = with_manifest(&module, manifest.as_bytes()).len();
    // The header of the padding takes twelve bytes.
    let padding = custom("padding", &vec![0; n_bytes - bare - 12]);
    let bytes = with_manifest(&[module, padding].concat(), manifest.as_bytes());
    assert_eq!(bytes.len(), n_bytes, "the size of {name}");
    Guest { name: name.to_owned(), bytes, expected }
}
