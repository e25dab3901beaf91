;; fails: memory
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (loop $again
      (drop (memory.grow (i32.const 1)))
      (br $again))
    i64.const 0))
