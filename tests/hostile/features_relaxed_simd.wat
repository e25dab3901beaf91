;; refused: features
(module
  (func (export "evaluate") (result i64)
    (i64x2.extract_lane 0 (i32x4.relaxed_trunc_f32x4_s (v128.const i64x2 1 2)))))
