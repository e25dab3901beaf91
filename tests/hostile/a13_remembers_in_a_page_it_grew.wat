;; harmless: approve
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (i64.extend_i32_u (i32.ne (memory.size) (i32.const 1)))
    (drop (memory.grow (i32.const 1)))))
