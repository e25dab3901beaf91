;; fails: invalid_output
(module
  (func (export "evaluate") (result i64)
    i64.const 2))
