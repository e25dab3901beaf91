;; fails: fuel
(module
  (func (export "evaluate") (result i64)
    (loop $again (br $again))
    i64.const 0))
