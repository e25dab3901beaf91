;; refused: exports
(module
  (func (export "evaluate") (export "allocate") (result i64) (i64.const 0)))
