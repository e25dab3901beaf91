;; refused: features
(module
  (table 1 funcref)
  (func (export "evaluate") (result i64)
    (drop (table.get 0 (i32.const 0)))
    i64.const 0))
