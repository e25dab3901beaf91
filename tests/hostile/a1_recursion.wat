;; fails: stack
(module
  (func $deep (result i64) (i64.add (call $deep) (i64.const 1)))
  (func (export "evaluate") (result i64)
    call $deep))
