#![cfg(test)]
//! Checks that the bindings of the author's kit match the import table.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tollgate-guest-abi --test kit` regenerates them.

#[path = "kit/answers.rs"]
mod answers;
#[path = "kit/assemblyscript.rs"]
mod assemblyscript;
#[path = "kit/c.rs"]
mod c;
#[path = "kit/rust.rs"]
mod rust;

use std::path::Path;
use std::{env, fs};

use tollgate_guest_abi::imports::{IMPORTS, ValueType};
use tollgate_guest_abi::{limits, prices};

/// Limits that apply while a module runs: name, value, description.
const RUN_LIMITS: [(&str, u64, &str); 6] = [
    ("FUEL_PER_RUN", limits::FUEL_PER_RUN, "fuel of one call of `evaluate`"),
    ("FUEL_PER_TEXT_BYTE", limits::FUEL_PER_TEXT_BYTE, "fuel for each byte of a text that a call reads"),
    (
        "FUEL_PER_SEARCHED_BYTE",
        prices::SEARCHED_BYTE,
        "fuel for each byte of a text that a pattern with a small automaton is searched in",
    ),
    ("HOST_CALLS_MAX", limits::HOST_CALLS_MAX as u64, "calls to the host on one transaction"),
    ("MEMORY_PAGES_MAX", limits::MEMORY_PAGES_MAX, "memory, in pages of 64 KiB"),
    ("REASON_BYTES_MAX", limits::REASON_BYTES_MAX as u64, "longest reason, in bytes"),
];

/// Capitalizes the first letter and adds a full stop.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

#[track_caller]
fn check(file: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kit").join(file);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{file} is not what the table gives; \
         write it anew with `UPDATE_GOLDEN=1 cargo test -p tollgate-guest-abi --test kit`:\n{expected}"
    );
}

#[test]
fn the_header_for_c_is_what_the_table_gives() {
    check("c/tollgate.h", &c::header());
}

#[test]
fn the_file_for_assemblyscript_is_what_the_table_gives() {
    check("assemblyscript/tollgate.ts", &assemblyscript::declarations());
}

#[test]
fn the_border_of_the_rust_crate_is_what_the_table_gives() {
    check("rust/src/border.rs", &rust::border());
}

#[test]
fn every_parameter_named_pointer_is_an_i32() {
    for import in IMPORTS {
        for (name, param) in import.names.iter().zip(import.params) {
            assert!(
                *name != "pointer" || *param == ValueType::I32,
                "`{}`: an address is an i32",
                import.name
            );
        }
    }
}
