;; harmless: approve
(module
  (import "tollgate" "number" (func $number (param i32) (result f64)))
  (func (export "evaluate") (result i64) (local $n i32)
    (local.set $n (i32.const 256))
    (loop $again
      (drop (call $number (i32.const 0)))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    i64.const 0))
