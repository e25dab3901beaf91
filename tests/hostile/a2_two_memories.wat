;; refused: memory or features
(module
  (memory (export "memory") 1)
  (memory 1)
  (func (export "evaluate") (result i64)
    i64.const 0))
