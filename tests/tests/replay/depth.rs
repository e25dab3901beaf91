//! The stack depth a module can reach differs between interpreted and compiled execution.

use tollgate_tests::audit::replay;
use tollgate_tests::{Home, Service, modules, sample};

/// Depths from one that always fits to one that never does.
const DEPTHS: std::ops::Range<u32> = 1..40;
/// Number of calls per depth step.
const STEP: u32 = 500;

/// A module that recurses to the depth given by the amount, and matches.
const DOWN: &str = r#"(module
  (import "tollgate" "number" (func $number (param i32) (result f64)))
  (func $down (param $left i32) (result i32)
    (if (result i32) (i32.eqz (local.get $left))
      (then (i32.const 1))
      (else (i32.or (call $down (i32.sub (local.get $left) (i32.const 1))) (local.get $left)))))
  (func (export "evaluate") (result i64)
    (i64.extend_i32_u (i32.ne (i32.const 0) (call $down (i32.trunc_sat_f64_s (call $number (i32.const 0))))))))"#;

#[test]
fn a_stack_that_ends_at_another_depth_is_not_called_a_difference() {
    let mut home = Home::new();
    let service = Service::start(&home);
    let module = modules::with_manifest(&modules::of_text(DOWN), &modules::manifest("deep"));
    assert_eq!(service.upload("", &module).status, 201);
    let mut n_failed = 0;
    for depth in DEPTHS {
        let fields = serde_json::json!({ "amount": depth * STEP });
        let judged = service.inject(&sample::with(&sample::transaction(&format!("t{depth}")), &fields));
        n_failed += usize::from(judged.expect(200)["failures"][0]["failure"] == "stack");
    }
    assert!(n_failed > 0 && n_failed < DEPTHS.len(), "{n_failed}");
    assert_eq!(service.stop().0.code(), Some(0));
    let same = replay(&home);
    assert_eq!((same.code, &same.summary["differ"], &same.summary["taken_over"]), (0, &0.into(), &0.into()));
    home.set("SERVICE_EXECUTION", "interpreted");
    let other = replay(&home);
    let count = |name: &str| other.summary[name].as_u64().unwrap();
    println!("{n_failed} of {} failed; interpreted: {}", DEPTHS.len(), other.summary);
    assert_eq!(count("differ"), 0, "{:#?}", other.findings);
    assert!(count("taken_over") + count("not_derived") > 0, "both ended at the same depth");
}
