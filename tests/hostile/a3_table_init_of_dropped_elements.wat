;; fails: trap
(module
  (table 2 funcref)
  (func $f)
  (elem $e func $f)
  (func (export "evaluate") (result i64)
    elem.drop $e
    (table.init $e (i32.const 0) (i32.const 0) (i32.const 1))
    i64.const 0))
