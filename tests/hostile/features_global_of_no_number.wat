;; refused: features
(module
  (func (export "evaluate") (result i64)
    global.get 99))
