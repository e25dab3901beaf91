;; harmless: approve
(module
  (func (export "evaluate") (result i64) (local i64 i64 i64 i64 i64 i64 i64 i64 f64 f64 f64 f64)
    (i64.or (i64.or (i64.or (local.get 0) (local.get 1)) (i64.or (local.get 2) (local.get 3)))
      (i64.or (i64.or (local.get 4) (local.get 5)) (i64.or (local.get 6) (local.get 7))))
    (i64.reinterpret_f64 (f64.add (f64.add (local.get 8) (local.get 9)) (f64.add (local.get 10) (local.get 11))))
    i64.or
    i64.eqz
    i32.eqz
    i64.extend_i32_u))
