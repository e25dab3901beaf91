;; fails: trap
(module
  (import "tollgate" "number" (func $number (param i32) (result f64)))
  (type $rule (func (result i64)))
  (table 1 funcref)
  (elem (i32.const 0) $number)
  (func (export "evaluate") (result i64)
    (call_indirect (type $rule) (i32.const 0))))
