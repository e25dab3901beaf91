;; fails: fuel
(module
  (func (export "evaluate") (result i64) (local $i i32)
    (loop $a
      (block $b
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_table $a $b $a (i32.rem_u (local.get $i) (i32.const 3))))
      (br $a))
    i64.const 0))
