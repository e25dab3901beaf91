;; fails: fuel
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (loop $again
      (drop (memory.grow (i32.const 0)))
      (br $again))
    i64.const 0))
