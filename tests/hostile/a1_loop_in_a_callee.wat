;; fails: fuel
(module
  (func $idle (loop $again (br $again)))
  (func (export "evaluate") (result i64)
    call $idle
    i64.const 1))
