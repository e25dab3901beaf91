;; fails: memory
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (i64.store (i32.const 1048576) (i64.const -1))
    i64.const 0))
