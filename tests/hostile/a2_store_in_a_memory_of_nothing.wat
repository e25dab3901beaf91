;; fails: memory
(module
  (memory (export "memory") 0)
  (func (export "evaluate") (result i64)
    (i32.store8 (i32.const 0) (i32.const 1))
    i64.const 0))
