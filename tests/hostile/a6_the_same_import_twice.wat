;; harmless: approve
(module
  (import "tollgate" "number" (func $number (param i32) (result f64)))
  (import "tollgate" "number" (func $again (param i32) (result f64)))
  (func (export "evaluate") (result i64)
    (i64.extend_i32_u (f64.ne (call $number (i32.const 0)) (call $again (i32.const 0))))))
