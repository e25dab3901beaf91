;; fails: fuel
(module
  (func (export "evaluate") (result i64) (local $l0 i64) (local $l1 i64) (local $l2 i64) (local $l3 i64) (local $l4 i64) (local $l5 i64) (local $l6 i64) (local $l7 i64)
    (loop $again
      (local.set $l0 (i64.add (local.get $l1) (i64.const 1)))
      (local.set $l1 (i64.add (local.get $l2) (i64.const 2)))
      (local.set $l2 (i64.add (local.get $l3) (i64.const 3)))
      (local.set $l3 (i64.add (local.get $l4) (i64.const 4)))
      (local.set $l4 (i64.add (local.get $l5) (i64.const 5)))
      (local.set $l5 (i64.add (local.get $l6) (i64.const 6)))
      (local.set $l6 (i64.add (local.get $l7) (i64.const 7)))
      (local.set $l7 (i64.add (local.get $l0) (i64.const 8)))
      (br $again))
    i64.const 0))
