;; fails: fuel
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (drop (memory.grow (i32.const 65535)))
    i64.const 0))
