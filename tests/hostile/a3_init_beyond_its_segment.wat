;; fails: memory
(module
  (memory (export "memory") 1)
  (data $d "text")
  (func (export "evaluate") (result i64)
    (memory.init $d (i32.const 0) (i32.const 2) (i32.const 3))
    i64.const 0))
