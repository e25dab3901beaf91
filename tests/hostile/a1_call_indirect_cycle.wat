;; fails: stack
(module
  (type $rule (func (result i64)))
  (table 2 2 funcref)
  (elem (i32.const 0) $ping $pong)
  (func $ping (type $rule) (i64.add (call_indirect (type $rule) (i32.const 1)) (i64.const 1)))
  (func $pong (type $rule) (i64.add (call_indirect (type $rule) (i32.const 0)) (i64.const 1)))
  (func (export "evaluate") (result i64)
    call $ping))
