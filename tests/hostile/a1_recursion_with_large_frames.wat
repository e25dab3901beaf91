;; fails: stack
(module
  (func $deep (param i64 i64 i64 i64 f64 f64 f64 f64) (result i64)
    (i64.xor (i64.add (i64.mul
      (call $deep (local.get 1) (local.get 2) (local.get 3) (local.get 0) (local.get 5) (local.get 6) (local.get 7) (local.get 4))
      (local.get 0)) (local.get 1)) (i64.reinterpret_f64 (f64.add (local.get 4) (f64.mul (local.get 5) (local.get 6))))))
  (func (export "evaluate") (result i64)
    (call $deep (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (f64.const 5) (f64.const 6) (f64.const 7) (f64.const 8))))
