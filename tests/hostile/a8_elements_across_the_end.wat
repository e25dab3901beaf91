;; fails: trap
(module
  (table 2 funcref)
  (func $f)
  (elem (i32.const 1) $f $f)
  (func (export "evaluate") (result i64)
    i64.const 0))
