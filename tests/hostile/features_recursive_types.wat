;; refused: features or types
(module
  (rec (type $a (func)) (type $b (func)))
  (func (export "evaluate") (result i64)
    i64.const 0))
