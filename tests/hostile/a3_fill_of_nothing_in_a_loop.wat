;; fails: fuel
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (loop $again
      (memory.fill (i32.const 0) (i32.const 1) (i32.const 0))
      (br $again))
    i64.const 0))
