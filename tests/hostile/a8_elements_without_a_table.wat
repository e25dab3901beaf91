;; refused: format
(module
  (func $f)
  (elem (i32.const 0) $f)
  (func (export "evaluate") (result i64)
    i64.const 0))
