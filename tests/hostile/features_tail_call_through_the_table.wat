;; refused: features
(module
  (type $rule (func (result i64)))
  (table 1 funcref)
  (func (export "evaluate") (result i64)
    (return_call_indirect (type $rule) (i32.const 0))))
