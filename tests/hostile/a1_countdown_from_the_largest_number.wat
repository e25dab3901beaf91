;; fails: fuel
(module
  (func (export "evaluate") (result i64) (local $n i64)
    (local.set $n (i64.const -1))
    (loop $again
      (local.set $n (i64.sub (local.get $n) (i64.const 1)))
      (br_if $again (i64.ne (local.get $n) (i64.const 0))))
    i64.const 0))
