;; refused: features or globals
(module
  (global externref (ref.null extern))
  (func (export "evaluate") (result i64)
    i64.const 0))
