;; harmless: block
(module
  (import "tollgate" "set_reason" (func $set_reason (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "a\c2\9bb\c2\85c")
  (func (export "evaluate") (result i64)
    (call $set_reason (i32.const 0) (i32.const 0) (i32.const 7))
    i64.const 1))
