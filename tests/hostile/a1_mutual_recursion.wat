;; fails: stack
(module
  (func $ping (result i64) (i64.add (call $pong) (i64.const 1)))
  (func $pong (result i64) (i64.mul (call $ping) (i64.const 3)))
  (func (export "evaluate") (result i64)
    call $ping))
