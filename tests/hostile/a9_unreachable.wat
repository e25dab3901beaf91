;; fails: trap
(module
  (func (export "evaluate") (result i64)
    unreachable))
