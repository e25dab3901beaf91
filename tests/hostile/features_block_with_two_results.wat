;; refused: blocks or types
(module
  (func (export "evaluate") (result i64)
    (block (result i64 i64) (i64.const 0) (i64.const 0))
    i64.add))
