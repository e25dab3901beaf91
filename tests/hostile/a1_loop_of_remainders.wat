;; fails: fuel
(module
  (func (export "evaluate") (result i64) (local $x i64)
    (local.set $x (i64.const 9223372036854775807))
    (loop $again
      (local.set $x (i64.or (i64.rem_u (local.get $x) (i64.const 1000003)) (i64.const 4611686018427387904)))
      (br $again))
    i64.const 0))
