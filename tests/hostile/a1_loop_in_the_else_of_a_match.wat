;; fails: fuel
(module
  (func (export "evaluate") (result i64)
    (if (result i64) (i32.eqz (i32.const 1))
      (then (i64.const 1))
      (else (loop $again (br $again)) (i64.const 0)))))
