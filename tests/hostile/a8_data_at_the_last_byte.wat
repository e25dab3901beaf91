;; harmless: approve
(module
  (memory (export "memory") 1)
  (data (i32.const 65535) "x")
  (func (export "evaluate") (result i64)
    (i64.extend_i32_u (i32.ne (i32.load8_u (i32.const 65535)) (i32.const 120)))))
