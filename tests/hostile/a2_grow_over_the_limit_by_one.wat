;; fails: memory
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (drop (memory.grow (i32.const 15)))
    (drop (memory.grow (i32.const 1)))
    i64.const 0))
