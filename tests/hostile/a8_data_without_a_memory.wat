;; refused: format
(module
  (data "text")
  (data (i32.const 0) "text")
  (func (export "evaluate") (result i64)
    i64.const 0))
