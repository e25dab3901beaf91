;; refused: table
(module
  (table 1000000 funcref)
  (func (export "evaluate") (result i64)
    i64.const 0))
