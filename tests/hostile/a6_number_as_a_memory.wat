;; refused: imports
(module
  (import "tollgate" "number" (memory 1))
  (func (export "evaluate") (result i64)
    i64.const 0))
