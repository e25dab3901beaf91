;; refused: imports
(module
  (import "tollgate" "n\d1\83mber" (func (param i32) (result f64)))
  (func (export "evaluate") (result i64)
    i64.const 0))
