;; refused: imports
(module
  (import "tollgate" "number" (global f64))
  (func (export "evaluate") (result i64)
    i64.const 0))
