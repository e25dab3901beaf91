;; harmless: approve
;; The remainder is 0; only the quotient has no place.
(module
  (func (export "evaluate") (result i64)
    (i64.rem_s (i64.const -9223372036854775808) (i64.const -1))))
