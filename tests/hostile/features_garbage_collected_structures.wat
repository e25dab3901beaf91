;; refused: features or types
(module
  (type $s (struct (field i32)))
  (func (export "evaluate") (result i64)
    (drop (struct.new_default $s))
    i64.const 0))
