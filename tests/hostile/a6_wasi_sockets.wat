;; refused: imports
(module
  (import "wasi_snapshot_preview1" "sock_send" (func (param i32 i32 i32 i32 i32) (result i32)))
  (func (export "evaluate") (result i64)
    i64.const 0))
