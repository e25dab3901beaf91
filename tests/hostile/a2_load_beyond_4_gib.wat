;; fails: memory
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (i64.load offset=4294967295 (i32.const -1))))
