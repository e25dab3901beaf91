;; refused: format
(module
  (func (export "evaluate") (result i64)
    global.get 99))
