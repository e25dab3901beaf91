;; fails: fuel
(module
  (func $fibonacci (param $n i64) (result i64)
    (if (result i64) (i64.lt_u (local.get $n) (i64.const 2))
      (then (local.get $n))
      (else (i64.add
        (call $fibonacci (i64.sub (local.get $n) (i64.const 1)))
        (call $fibonacci (i64.sub (local.get $n) (i64.const 2)))))))
  (func (export "evaluate") (result i64)
    (drop (call $fibonacci (i64.const 60)))
    i64.const 0))
