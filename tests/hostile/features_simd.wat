;; refused: features
(module
  (func (export "evaluate") (result i64)
    (i64x2.extract_lane 0 (v128.const i64x2 1 2))))
