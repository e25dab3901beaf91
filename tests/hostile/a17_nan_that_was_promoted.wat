;; harmless: block
;; Matches when the NaN has the one canonical pattern.
(module
  (func (export "evaluate") (result i64)
    (i64.reinterpret_f64 (f64.promote_f32 (f32.const -nan:0x200123)))
    (i64.const 0x7ff8000000000000)
    i64.eq
    i64.extend_i32_u))
