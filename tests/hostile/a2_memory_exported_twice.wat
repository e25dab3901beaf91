;; refused: exports
(module
  (memory (export "memory") (export "heap") 1)
  (func (export "evaluate") (result i64)
    i64.const 0))
