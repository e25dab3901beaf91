;; refused: imports
(module
  (import "tollgate" "relate_text" (func (param i32 i32 i32) (result i32)))
  (func (export "evaluate") (result i64)
    i64.const 0))
