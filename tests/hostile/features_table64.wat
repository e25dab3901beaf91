;; refused: features or table
(module
  (table i64 1 funcref)
  (func (export "evaluate") (result i64)
    i64.const 0))
