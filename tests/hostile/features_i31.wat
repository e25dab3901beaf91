;; refused: features
(module
  (func (export "evaluate") (result i64)
    (i64.extend_i32_u (i31.get_u (ref.i31 (i32.const 1))))))
