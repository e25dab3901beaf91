;; fails: fuel
(module
  (func (export "evaluate") (result i64)
    (loop $outer
      (loop $inner (br $inner))
      (br $outer))
    i64.const 0))
