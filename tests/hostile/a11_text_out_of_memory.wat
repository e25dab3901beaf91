;; fails: memory
(module
  (import "tollgate" "text" (func $text (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "evaluate") (result i64)
    (call $text (i32.const 1) (i32.const 65536) (i32.const 1))
    drop
    i64.const 0))
