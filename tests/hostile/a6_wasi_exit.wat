;; refused: imports
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
  (func (export "evaluate") (result i64)
    i64.const 0))
