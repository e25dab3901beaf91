;; fails: trap
(module
  (func (export "evaluate") (result i64)
    (i64.trunc_f64_s (f64.const nan))))
