;; refused: format
(module
  (func (export "evaluate") (result i64)
    call 99))
