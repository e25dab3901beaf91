;; refused: table or features
(module
  (table 1 funcref)
  (table 1 funcref)
  (func (export "evaluate") (result i64)
    i64.const 0))
