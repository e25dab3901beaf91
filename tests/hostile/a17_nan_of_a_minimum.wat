;; harmless: block
;; Matches when the NaN has the one canonical pattern.
(module
  (func (export "evaluate") (result i64)
    (i64.reinterpret_f64 (f64.min (f64.const -nan:0x4000000000321) (f64.const 1)))
    (i64.const 0x7ff8000000000000)
    i64.eq
    i64.extend_i32_u))
