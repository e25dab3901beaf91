;; refused: imports
(module
  (import "tollgate" "set_score" (func (param i32 f32)))
  (func (export "evaluate") (result i64)
    i64.const 0))
