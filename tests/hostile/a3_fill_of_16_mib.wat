;; fails: fuel
;; There is no such memory either, but fuel is asked for first.
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (memory.fill (i32.const 0) (i32.const 1) (i32.const 16777216))
    i64.const 0))
