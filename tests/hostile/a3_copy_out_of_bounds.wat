;; fails: memory
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (memory.copy (i32.const 0) (i32.const 65530) (i32.const 7))
    i64.const 0))
