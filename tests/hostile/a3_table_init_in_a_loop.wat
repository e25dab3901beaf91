;; fails: fuel
(module
  (table 64 64 funcref)
  (func $f)
  (elem $e func $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f)
  (func (export "evaluate") (result i64)
    (loop $again
      (table.init $e (i32.const 0) (i32.const 0) (i32.const 64))
      (br $again))
    i64.const 0))
