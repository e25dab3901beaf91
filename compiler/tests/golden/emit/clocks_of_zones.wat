(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result f64)))
  (import "tollgate" "time_part" (func (;0;) (type 1)))
  (export "evaluate" (func 1))
  (func (;1;) (type 0) (result i64)
    (local f64 f64)
    block (result i32) ;; label = @1
      i32.const 0
      i32.const 0
      call 0
      f64.const 0x1.7p+4 (;=23;)
      f64.ge
      i32.eqz
      br_if 0 (;@1;)
      drop
      i32.const 1
      call 0
      f64.const 0x1.8p+2 (;=6;)
      f64.eq
    end
    i64.extend_i32_u
  )
)
