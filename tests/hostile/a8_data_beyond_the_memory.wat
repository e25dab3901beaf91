;; fails: memory
(module
  (memory (export "memory") 1)
  (data (i32.const 65536) "x")
  (func (export "evaluate") (result i64)
    i64.const 0))
