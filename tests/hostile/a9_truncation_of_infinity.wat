;; fails: trap
(module
  (func (export "evaluate") (result i64)
    (i64.trunc_f64_u (f64.const inf))))
