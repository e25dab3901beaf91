;; refused: blocks
(module
  (type $one (func (param i64) (result i64)))
  (func (export "evaluate") (result i64)
    i64.const 0
    (block (type $one))))
