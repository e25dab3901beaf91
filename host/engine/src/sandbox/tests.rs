//! Tests with handwritten guests, including hostile ones that the compiler never produces.

use tollgate_guest_abi::imports::Call;
use tollgate_guest_abi::{ABI_VERSION, Cost, Manifest, Needs, RuleEntry, Semantics, Verdict};
use tollgate_history::{AggregateValue, CostedAnswer};
use tollgate_model::assessment::{RuleFailure, RuleStatement};
use tollgate_model::instruction::{Grant, PAGE_BYTES};

use super::*;

/// A host with fixed answers.
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
    fn cached_aggregate(&mut self, _aggregate: u32) -> Result<Option<AggregateValue>, RuleFailure> {
        Ok(None)
    }
    fn aggregate(
        &mut self,
        _aggregate: u32,
        _fuel_max: u64,
    ) -> Result<CostedAnswer<AggregateValue>, RuleFailure> {
        Ok(CostedAnswer { value: AggregateValue { nearest: 0.0, comparable: 0.0 }, fuel: 300_000 })
    }
    fn previous(&mut self, _previous: u32, _fuel_max: u64) -> Result<CostedAnswer<bool>, RuleFailure> {
        Ok(CostedAnswer { value: false, fuel: 0 })
    }
    fn comparable(&mut self, field: u32) -> Result<f64, RuleFailure> {
        self.number(field)
    }
    fn relate_operands(
        &mut self,
        _left: u32,
        _right: u32,
        _fuel_max: u64,
    ) -> Result<CostedAnswer<i32>, RuleFailure> {
        Ok(CostedAnswer { value: 0, fuel: 0 })
    }
    fn member_operand(
        &mut self,
        _operand: u32,
        _list: u32,
        _fuel_max: u64,
    ) -> Result<CostedAnswer<i32>, RuleFailure> {
        Ok(CostedAnswer { value: 0, fuel: 0 })
    }
    fn time_part(&mut self, _time: u32) -> Result<f64, RuleFailure> {
        panic!("a host function that breaks")
    }
    fn text(&mut self, field: u32) -> Result<Option<&str>, RuleFailure> {
        match field {
            0 => Ok(Some("größer")),
            1 => Ok(None),
            _ => Err(RuleFailure::HostCall),
        }
    }
    fn bytes_read(&mut self, _call: Call, _slots: [u32; 2]) -> Result<usize, RuleFailure> {
        Ok(0)
    }
    fn price_of_reading(&mut self, _call: Call, _slots: [u32; 2]) -> Result<u64, RuleFailure> {
        Ok(0)
    }
}

/// Runs a module that pays for every call.
fn run(
    runner: &mut Runner<Silent>,
    module_index: usize,
    module: &AdmittedModule,
) -> Result<(u64, RuleStatement), RuleFailure> {
    let terms = RunTerms { fuel_max: u64::MAX, charges: CallCharges::SinceV4 };
    let bits = runner.run(module_index, module, terms, &mut RunCost::default())?;
    Ok((bits, runner.take_statement()))
}

fn manifest() -> Manifest {
    let rule = RuleEntry {
        name: "guest".into(),
        description: None,
        verdict: Verdict::Review,
        score: 0.5,
        reason: "because".into(),
    };
    Manifest {
        abi_version: ABI_VERSION,
        semantics: Semantics::CURRENT,
        rules: vec![rule],
        needs: Needs::default(),
        cost: Cost::default(),
    }
}

/// Parses a module and adds a manifest.
fn module(wat: &str) -> Vec<u8> {
    with_manifest(&wat::parse_str(wat).unwrap(), &manifest())
}

fn evaluating(body: &str) -> String {
    format!(r#"(module (import "tollgate" "number" (func $number (param i32) (result f64))) {body})"#)
}

/// Checks how much more fuel a module uses since semantics 5, and that it fails with less.
#[track_caller]
fn check_price(body: &str, expected: u64) {
    let sandbox = Sandbox::new().unwrap();
    let bytes = module(&evaluating(body));
    let grant = Grant { memory_bytes: 32 * PAGE_BYTES, ..Grant::default() };
    let uploaded = CheckedModule::check(&bytes, grant).unwrap().compile_here(&sandbox, &bytes).unwrap();
    let mut runner = Runner::new(&sandbox, Silent, 1).unwrap();
    let mut fuel = |fuel_max, charges| {
        let mut cost = RunCost::default();
        let ran = runner.run(0, &uploaded, RunTerms { fuel_max, charges }, &mut cost);
        (ran, cost.fuel)
    };
    let (_, before) = fuel(u64::MAX, CallCharges::SinceV4);
    let (ran, used) = fuel(u64::MAX, CallCharges::SinceV5);
    assert_eq!((ran, used), (Ok(1), before + expected), "{body}");
    for too_little in [0, expected / 2, expected - 1] {
        let failed = (Err(RuleFailure::Fuel), too_little);
        assert_eq!(fuel(too_little, CallCharges::SinceV5), failed, "{body}");
    }
}

/// Checks the answer of an untrusted module in three runs, next to a valid module.
#[track_caller]
fn check_said(body: &str, expected: &Result<(u64, RuleStatement), RuleFailure>) {
    let sandbox = Sandbox::new().unwrap();
    let bytes = module(&evaluating(body));
    let uploaded =
        CheckedModule::check(&bytes, Grant::default()).unwrap().compile_here(&sandbox, &bytes).unwrap();
    let good = sandbox
        .admit(&module(&evaluating(r#"(func (export "evaluate") (result i64) i64.const 1)"#)))
        .unwrap();
    let mut runner = Runner::new(&sandbox, Silent, 2).unwrap();
    for _ in 0..3 {
        assert_eq!(run(&mut runner, 0, &uploaded), *expected, "{body}");
        assert_eq!(
            run(&mut runner, 1, &good).map(|(bits, _)| bits),
            Ok(1),
            "a neighbour is none the worse for it"
        );
    }
}

#[track_caller]
fn check_run(body: &str, expected: Result<u64, RuleFailure>) {
    check_said(body, &expected.map(|bits| (bits, RuleStatement::default())));
}

#[track_caller]
fn check_refused(wat: &str, expected: &str) {
    let refusal = CheckedModule::check(&module(wat), Grant::default()).unwrap_err().to_string();
    assert!(refusal.contains(expected), "{refusal}");
}

#[test]
fn a_guest_answers_with_bits() {
    check_run(r#"(func (export "evaluate") (result i64) i64.const 1)"#, Ok(1));
    check_run(r#"(func (export "evaluate") (result i64) i64.const 0)"#, Ok(0));
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
fn a_guest_pays_for_what_the_history_looks_at_whoever_made_it() {
    let asking = |n: usize| {
        format!(
            r#"(module (import "tollgate" "aggregate" (func $aggregate (param i32) (result f64)))
              (func (export "evaluate") (result i64) {} i64.const 1))"#,
            "i32.const 0 call $aggregate drop ".repeat(n)
        )
    };
    let sandbox = Sandbox::new().unwrap();
    for (n, expected) in [(3, Ok(1)), (4, Err(RuleFailure::Fuel))] {
        let bytes = module(&asking(n));
        let uploaded =
            CheckedModule::check(&bytes, Grant::default()).unwrap().compile_here(&sandbox, &bytes).unwrap();
        let made = sandbox.admit(&bytes).unwrap();
        let mut runner = Runner::new(&sandbox, Silent, 2).unwrap();
        for (module_index, module) in [&uploaded, &made].into_iter().enumerate() {
            assert_eq!(
                run(&mut runner, module_index, module).map(|(bits, _)| bits),
                expected,
                "{n} questions, module {module_index}"
            );
        }
    }
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
fn a_module_of_our_compiler_may_not_hold_state() {
    let evaluate = r#"(func (export "evaluate") (result i64) i64.const 0)"#;
    let check = |wat: &str, expected: &str| {
        let refusal = Sandbox::new().unwrap().admit(&module(wat)).unwrap_err().to_string();
        assert!(refusal.contains(expected), "{refusal}");
    };
    check(&format!("(module (memory 1) {evaluate})"), "no memory");
    check(&format!("(module (table 1 funcref) {evaluate})"), "no table");
    check(&format!("(module (global (mut i32) (i32.const 0)) {evaluate})"), "no global");
    check(&format!("(module (func $f) (start $f) {evaluate})"), "no start function");
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
        check_refused(&format!("(module {import} {evaluate})"), "imports: the import `");
    }
}

#[test]
fn evaluate_and_the_memory_are_all_that_is_exported() {
    let evaluate = r#"(func (export "evaluate") (result i64) i64.const 0)"#;
    check_refused("(module)", "exports: a rule module exports `evaluate: () -> i64`; this one does not");
    let refused = "cannot be exported";
    check_refused(r#"(module (func (export "evaluate") (result i32) i32.const 0))"#, refused);
    check_refused(r#"(module (func (export "evaluate") (param i32) (result i64) i64.const 0))"#, refused);
    check_refused(
        r#"(module (func (export "evaluate") (export "other") (result i64) i64.const 0))"#,
        refused,
    );
    check_refused(&format!(r#"(module (memory (export "heap") 1) {evaluate})"#), refused);
    check_refused(&format!("(module (memory 1) {evaluate})"), "exports it as `memory`");
    check_refused(
        &format!(r#"(module (global (export "state") (mut i32) (i32.const 0)) {evaluate})"#),
        refused,
    );
    let linked = format!(
        r#"(module (memory (export "memory") 1) (global (export "__end") i32 (i32.const 0)) {evaluate})"#
    );
    assert!(CheckedModule::check(&module(&linked), Grant::default()).is_ok());
}

#[test]
fn every_check_that_fails_is_reported_with_its_offset() {
    let wat = r#"(module
        (import "wasi" "exit" (func (param i32)))
        (memory (export "memory") 17)
        (func $first)
        (func (export "evaluate") (result i32) (local i64) i32.const 0)
        (start $first))"#;
    let refusal = CheckedModule::check(&module(wat), Grant::default()).unwrap_err();
    let checks: Vec<_> = refusal.findings.iter().map(|finding| finding.check).collect();
    assert_eq!(checks, ["imports", "memory", "exports", "start", "exports"]);
    assert!(refusal.findings[..4].iter().all(|finding| finding.offset.is_some()), "{refusal}");
}

#[test]
fn bytes_that_are_no_module_are_refused() {
    let checks = |bytes: &[u8]| {
        let refusal = CheckedModule::check(bytes, Grant::default()).unwrap_err();
        refusal.findings.iter().map(|finding| finding.check).collect::<Vec<_>>()
    };
    for bytes in [&b""[..], b"\0asm", b"(module)", &[0; 100]] {
        assert!(checks(bytes).contains(&"format"), "{bytes:?}");
    }
    assert_eq!(checks(&vec![0; 65 * 1024]), ["size"]);
    let unsigned = wat::parse_str(r#"(module (func (export "evaluate") (result i64) i64.const 0))"#).unwrap();
    assert_eq!(checks(&unsigned), ["manifest"]);
    let twice = with_manifest(&with_manifest(&unsigned, &manifest()), &manifest());
    assert_eq!(checks(&twice), ["manifest"]);
}

#[test]
fn a_module_that_uses_a_disabled_feature_is_refused() {
    let simd =
        r#"(module (func (export "evaluate") (result i64) v128.const i64x2 1 2 i64x2.extract_lane 0))"#;
    check_refused(simd, "features: ");
    let tail_call =
        r#"(module (func $f (result i64) return_call $f) (func (export "evaluate") (result i64) call $f))"#;
    check_refused(tail_call, "features: ");
}

mod untrusted_modules;

#[test]
fn a_module_without_its_manifests_is_what_it_was() {
    let wat =
        r#"(module (func (export "evaluate") (result i64) i64.const 0) (@custom "other" "of the linker"))"#;
    let bare = wat::parse_str(wat).unwrap();
    assert_eq!(without_manifest(&bare), Some(bare.clone()));
    let manifest = manifest();
    assert_eq!(without_manifest(&with_manifest(&bare, &manifest)), Some(bare.clone()));
    let section = with_manifest(&bare, &manifest)[bare.len()..].to_vec();
    let everywhere = [&bare[..8], &section, &bare[8..], &section].concat();
    assert_eq!(without_manifest(&everywhere), Some(bare.clone()));
    for bytes in [&b""[..], b"\0asm", b"(module)", b"\0asm\x0d\0\x01\0", &bare[..bare.len() - 1]] {
        assert_eq!(without_manifest(bytes), None, "{bytes:?}");
    }
}
