;; refused: features
(module
  (type $rule (func (result i64)))
  (func $f (type $rule) (i64.const 0))
  (elem declare func $f)
  (func (export "evaluate") (result i64)
    (call_ref $rule (ref.func $f))))
