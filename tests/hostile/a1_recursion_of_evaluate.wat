;; fails: stack
(module
  (func $evaluate (export "evaluate") (result i64) (i64.add (call $evaluate) (i64.const 1))))
