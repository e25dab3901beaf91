;; harmless: block
;; Matches when the NaN has the one canonical pattern.
(module
  (func (export "evaluate") (result i64)
    (i32.reinterpret_f32 (f32.demote_f64 (f64.div (f64.const 0) (f64.const 0))))
    (i32.const 0x7fc00000)
    i32.eq
    i64.extend_i32_u))
