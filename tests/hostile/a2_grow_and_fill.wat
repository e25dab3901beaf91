;; fails: fuel
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (drop (memory.grow (i32.const 15)))
    (memory.fill (i32.const 0) (i32.const 170) (i32.const 1048576))
    i64.const 0))
