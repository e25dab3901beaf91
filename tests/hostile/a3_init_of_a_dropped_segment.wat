;; fails: memory
(module
  (memory (export "memory") 1)
  (data $d "text")
  (func (export "evaluate") (result i64)
    data.drop $d
    (memory.init $d (i32.const 0) (i32.const 0) (i32.const 4))
    i64.const 0))
