;; refused: format
(module
  (func (export "evaluate") (result i64)
    br 99))
