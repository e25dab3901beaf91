;; fails: trap
(module
  (func $deep (param $n i32) (result i64)
    (if (i32.eqz (local.get $n)) (then unreachable))
    (i64.add (call $deep (i32.sub (local.get $n) (i32.const 1))) (i64.const 1)))
  (func (export "evaluate") (result i64)
    (call $deep (i32.const 1000))))
