;; fails: fuel
(module
  (func (export "evaluate") (result i64) (local $x f64)
    (loop $again
      (local.set $x (f64.sqrt (f64.div (f64.const 1) (f64.add (local.get $x) (f64.const 1)))))
      (br $again))
    i64.const 0))
