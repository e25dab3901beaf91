;; harmless: approve
;; Field 5 is two characters of two bytes: into three bytes fits one, and the third stays as it was.
(module
  (import "tollgate" "text" (func $text (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\aa\aa\aa\aa")
  (func (export "evaluate") (result i64)
    (drop (call $text (i32.const 5) (i32.const 0) (i32.const 3)))
    (i64.extend_i32_u (i32.ne (i32.load8_u (i32.const 2)) (i32.const 170)))))
