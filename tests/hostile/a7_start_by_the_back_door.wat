;; refused: exports
(module
  (func (export "_initialize"))
  (func (export "evaluate") (result i64)
    i64.const 0))
