;; refused: features
(module
  (table 1 funcref)
  (func (export "evaluate") (result i64)
    (table.fill 0 (i32.const 0) (ref.null func) (i32.const 1))
    i64.const 0))
