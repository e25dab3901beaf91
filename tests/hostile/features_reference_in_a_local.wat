;; refused: features or locals
(module
  (func (export "evaluate") (result i64) (local externref)
    i64.const 0))
