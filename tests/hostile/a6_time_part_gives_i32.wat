;; refused: imports
(module
  (import "tollgate" "time_part" (func (param i32) (result i32)))
  (func (export "evaluate") (result i64)
    i64.const 0))
