;; refused: start
(module
  (func $start (loop $again (br $again)))
  (start $start)
  (func (export "evaluate") (result i64)
    i64.const 0))
