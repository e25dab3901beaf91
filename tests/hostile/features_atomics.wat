;; refused: features
(module
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (i64.atomic.load (i32.const 0))))
