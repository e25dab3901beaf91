//! Fuzzes the compiler with arbitrary bytes as a script.
#![no_main]

mod judge;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| judge::judge(&String::from_utf8_lossy(bytes)));
