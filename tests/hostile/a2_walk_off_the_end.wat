;; fails: memory
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64) (local $at i32)
    (loop $again
      (drop (i32.load (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 64)))
      (br $again))
    i64.const 0))
