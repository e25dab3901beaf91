;; fails: invalid_output
(module
  (import "tollgate" "set_score" (func $set_score (param i32 f64)))
  (func (export "evaluate") (result i64)
    (call $set_score (i32.const 0) (f64.const nan))
    i64.const 1))
