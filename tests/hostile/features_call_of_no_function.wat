;; refused: features
(module
  (func (export "evaluate") (result i64)
    call 99))
