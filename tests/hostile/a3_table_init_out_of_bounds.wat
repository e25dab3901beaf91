;; fails: trap
(module
  (table 2 funcref)
  (func $f)
  (elem $e func $f $f)
  (func (export "evaluate") (result i64)
    (table.init $e (i32.const 1) (i32.const 0) (i32.const 2))
    i64.const 0))
