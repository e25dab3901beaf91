;; fails: fuel
(module
  (table 1024 1024 funcref)
  (func (export "evaluate") (result i64)
    (loop $again
      (table.copy (i32.const 1) (i32.const 0) (i32.const 1023))
      (br $again))
    i64.const 0))
