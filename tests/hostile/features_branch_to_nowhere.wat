;; refused: features
(module
  (func (export "evaluate") (result i64)
    br 99))
