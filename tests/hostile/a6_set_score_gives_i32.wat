;; refused: imports
(module
  (import "tollgate" "set_score" (func (param i32 f64) (result i32)))
  (func (export "evaluate") (result i64)
    i64.const 0))
