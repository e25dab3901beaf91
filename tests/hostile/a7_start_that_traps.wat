;; refused: start
(module
  (func $start unreachable)
  (start $start)
  (func (export "evaluate") (result i64)
    i64.const 0))
