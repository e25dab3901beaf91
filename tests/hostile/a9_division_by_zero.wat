;; fails: trap
(module
  (func (export "evaluate") (result i64)
    (i64.div_s (i64.const 1) (i64.const 0))))
