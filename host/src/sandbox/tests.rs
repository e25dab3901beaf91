//! Guests written by hand: what the compiler never makes, and what a hostile author would.

use tollgate_guest_abi::{ABI_VERSION, Cost, Manifest, Needs, RuleEntry, Verdict};

use super::*;
use crate::assessment::RuleFailure;

/// A host that has nothing to tell.
struct Silent;

impl HostCalls for Silent {
    fn number(&mut self, field: u32) -> Result<f64, RuleFailure> {
        if field == 0 { Ok(42.0) } else { Err(RuleFailure::HostCall) }
    }
    fn symbol(&mut self, _field: u32) -> Result<i32, RuleFailure> {
        Ok(-1)
    }
    fn kind(&mut self, _field: u32) -> Result<i32, RuleFailure> {
        Ok(0)
    }
    fn relate(&mut self, _left: u32, _right: u32) -> Result<i32, RuleFailure> {
        Ok(0)
    }
    fn relate_text(&mut self, _field: u32, _text: u32) -> Result<i32, RuleFailure> {
        Ok(0)
    }
    fn member(&mut self, _field: u32, _list: u32) -> Result<i32, RuleFailure> {
        Ok(0)
    }
    fn member_number(&mut self, _number: f64, _list: u32) -> Result<i32, RuleFailure> {
        Ok(0)
    }
    fn member_text(&mut self, _text: u32, _list: u32) -> Result<i32, RuleFailure> {
        Ok(0)
    }
    fn matches(&mut self, _field: u32, _pattern: u32) -> Result<i32, RuleFailure> {
        Ok(0)
    }
    fn matches_number(&mut self, _number: f64, _pattern: u32) -> Result<i32, RuleFailure> {
        Ok(0)
    }
    fn aggregate(&mut self, _aggregate: u32) -> Result<f64, RuleFailure> {
        Ok(0.0)
    }
    fn previous(&mut self, _previous: u32) -> Result<i32, RuleFailure> {
        Ok(0)
    }
    fn time_part(&mut self, _time: u32) -> Result<f64, RuleFailure> {
        panic!("a host function that breaks")
    }
}

fn manifest() -> Manifest {
    let rule = RuleEntry {
        name: "guest".into(),
        description: None,
        verdict: Verdict::Review,
        score: 0.5,
        reason: "because".into(),
    };
    Manifest { abi_version: ABI_VERSION, rules: vec![rule], needs: Needs::default(), cost: Cost::default() }
}

/// A module of this text, carrying a manifest.
fn module(wat: &str) -> Vec<u8> {
    let mut bytes = wat::parse_str(wat).unwrap();
    let name = tollgate_guest_abi::MANIFEST_SECTION.as_bytes();
    let data = manifest().to_bytes();
    let length = 1 + name.len() + data.len();
    bytes.push(0);
    // The section's length as LEB128 of exactly two bytes.
    bytes.extend([(length & 0x7f) as u8 | 0x80, u8::try_from(length >> 7).unwrap()]);
    bytes.push(u8::try_from(name.len()).unwrap());
    bytes.extend(name);
    bytes.extend(data);
    bytes
}

fn evaluating(body: &str) -> String {
    format!(r#"(module (import "tollgate" "number" (func $number (param i32) (result f64))) {body})"#)
}

#[track_caller]
fn check_run(body: &str, expected: Result<u64, RuleFailure>) {
    let sandbox = Sandbox::new().unwrap();
    let admitted = sandbox.admit(&module(&evaluating(body))).unwrap();
    let good = sandbox
        .admit(&module(&evaluating(r#"(func (export "evaluate") (result i64) i64.const 1)"#)))
        .unwrap();
    let mut runner = Runner::new(&sandbox, Silent, [&admitted, &good].into_iter()).unwrap();
    for _ in 0..3 {
        assert_eq!(runner.run(0), expected, "{body}");
        assert_eq!(runner.run(1), Ok(1), "a neighbour is none the worse for it");
    }
}

#[track_caller]
fn check_refused(wat: &str, expected: &str) {
    let refusal = Sandbox::new().unwrap().admit(&module(wat)).unwrap_err().to_string();
    assert!(refusal.contains(expected), "{refusal}");
}

#[test]
fn a_guest_answers_with_bits() {
    check_run(r#"(func (export "evaluate") (result i64) i64.const 5)"#, Ok(5));
    check_run(r#"(func (export "evaluate") (result i64) i64.const -1)"#, Ok(u64::MAX));
    check_run(
        r#"(func (export "evaluate") (result i64) i32.const 0 call $number f64.const 42 f64.eq i64.extend_i32_u)"#,
        Ok(1),
    );
}

#[test]
fn a_guest_that_loops_runs_out_of_fuel() {
    let body = r#"(func (export "evaluate") (result i64) (loop $again br $again) i64.const 0)"#;
    check_run(body, Err(RuleFailure::Fuel));
}

#[test]
fn a_guest_that_recurses_without_end_runs_out_of_stack_or_fuel() {
    let body = r#"
        (func $deep (param i64 i64 i64 i64) (result i64)
          local.get 0 local.get 1 local.get 2 local.get 3 call $deep
          local.get 0 i64.add local.get 1 i64.mul local.get 2 i64.xor local.get 3 i64.add)
        (func (export "evaluate") (result i64) i64.const 1 i64.const 2 i64.const 3 i64.const 4 call $deep)"#;
    check_run(body, Err(RuleFailure::Stack));
}

#[test]
fn a_guest_that_traps_is_a_failure_of_its_own() {
    check_run(r#"(func (export "evaluate") (result i64) unreachable)"#, Err(RuleFailure::Trap));
    check_run(
        r#"(func (export "evaluate") (result i64) i64.const 1 i64.const 0 i64.div_s)"#,
        Err(RuleFailure::Trap),
    );
}

#[test]
fn a_slot_the_manifest_does_not_name_is_a_failure() {
    check_run(
        r#"(func (export "evaluate") (result i64) i32.const 7 call $number drop i64.const 1)"#,
        Err(RuleFailure::HostCall),
    );
}

#[test]
fn a_module_that_can_remember_is_refused() {
    let evaluate = r#"(func (export "evaluate") (result i64) i64.const 0)"#;
    check_refused(&format!("(module (memory 1) {evaluate})"), "no memory");
    check_refused(&format!("(module (table 1 funcref) {evaluate})"), "no table");
    check_refused(&format!("(module (global (mut i32) (i32.const 0)) {evaluate})"), "no global");
    check_refused(&format!("(module (func $f) (start $f) {evaluate})"), "no start function");
}

#[test]
fn only_the_functions_of_the_table_can_be_imported() {
    let evaluate = r#"(func (export "evaluate") (result i64) i64.const 0)"#;
    for import in [
        r#"(import "tollgate" "numbers" (func (param i32) (result f64)))"#,
        r#"(import "tollgate" "number" (func (param i64) (result f64)))"#,
        r#"(import "tollgate" "number" (func (param i32) (result f32)))"#,
        r#"(import "tollgate" "number" (func (param i32 i32) (result f64)))"#,
        r#"(import "tollgate" "number" (global f64))"#,
        r#"(import "wasi_snapshot_preview1" "number" (func (param i32) (result f64)))"#,
        r#"(import "tollgate" "memory" (memory 1))"#,
    ] {
        check_refused(&format!("(module {import} {evaluate})"), "is not one of the host's functions");
    }
}

#[test]
fn evaluate_is_the_one_export() {
    let refused = "exports `evaluate: () -> i64` and nothing else";
    check_refused("(module)", refused);
    check_refused(r#"(module (func (export "evaluate") (result i32) i32.const 0))"#, refused);
    check_refused(r#"(module (func (export "evaluate") (param i32) (result i64) i64.const 0))"#, refused);
    check_refused(
        r#"(module (func (export "evaluate") (export "other") (result i64) i64.const 0))"#,
        refused,
    );
}

#[test]
fn bytes_that_are_no_module_are_refused() {
    let sandbox = Sandbox::new().unwrap();
    for bytes in [&b""[..], b"\0asm", b"(module)", &[0; 100]] {
        assert!(sandbox.admit(bytes).is_err());
    }
    assert!(matches!(sandbox.admit(&vec![0; 65 * 1024]), Err(Refusal::TooLarge(_))));
    let unsigned = wat::parse_str(r#"(module (func (export "evaluate") (result i64) i64.const 0))"#).unwrap();
    assert!(matches!(sandbox.admit(&unsigned), Err(Refusal::ManifestCount)));
}

#[test]
fn what_is_switched_off_does_not_compile() {
    let simd =
        r#"(module (func (export "evaluate") (result i64) v128.const i64x2 1 2 i64x2.extract_lane 0))"#;
    check_refused(simd, "does not compile");
    let tail_call =
        r#"(module (func $f (result i64) return_call $f) (func (export "evaluate") (result i64) call $f))"#;
    check_refused(tail_call, "does not compile");
}
