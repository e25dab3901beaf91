;; harmless: approve
(module
  (memory (export "memory") 16)
  (func (export "evaluate") (result i64) (local $at i32) (local $found i64)
    (loop $again
      (local.set $found (i64.or (local.get $found) (i64.load (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 32)))
      (br_if $again (i32.lt_u (local.get $at) (i32.const 1048576))))
    (i64.extend_i32_u (i64.ne (local.get $found) (i64.const 0)))))
