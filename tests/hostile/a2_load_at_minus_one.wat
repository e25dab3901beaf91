;; fails: memory
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (i64.load8_u (i32.const -1))))
