;; refused: features or memory
(module
  (memory (export "memory") 1 (pagesize 1))
  (func (export "evaluate") (result i64)
    i64.const 0))
