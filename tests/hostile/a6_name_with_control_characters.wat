;; refused: imports
(module
  (import "tollgate" "num\1b[2Jber\0d\0a" (func (param i32) (result f64)))
  (func (export "evaluate") (result i64)
    i64.const 0))
