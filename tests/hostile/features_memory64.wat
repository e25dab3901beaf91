;; refused: features or memory
(module
  (memory (export "memory") i64 1)
  (func (export "evaluate") (result i64)
    i64.const 0))
