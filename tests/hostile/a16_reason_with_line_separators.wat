;; harmless: block
(module
  (import "tollgate" "set_reason" (func $set_reason (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "a\e2\80\a8b\e2\80\a9c")
  (func (export "evaluate") (result i64)
    (call $set_reason (i32.const 0) (i32.const 0) (i32.const 9))
    i64.const 1))
