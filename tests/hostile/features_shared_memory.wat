;; refused: features or memory
(module
  (memory (export "memory") 1 1 shared)
  (func (export "evaluate") (result i64)
    i64.const 0))
