;; fails: trap
(module
  (table 1 funcref)
  (func $f)
  (elem (i32.const -1) $f)
  (func (export "evaluate") (result i64)
    i64.const 0))
