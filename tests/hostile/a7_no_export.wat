;; refused: exports
(module
  (func (result i64) (i64.const 0)))
