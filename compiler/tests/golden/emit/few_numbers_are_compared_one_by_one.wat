(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result f64)))
  (import "tollgate" "time_part" (func (;0;) (type 1)))
  (import "tollgate" "comparable" (func (;1;) (type 1)))
  (export "evaluate" (func 2))
  (func (;2;) (type 0) (result i64)
    (local f64 f64)
    block (result i32) ;; label = @1
      i32.const 0
      i32.const 0
      call 1
      local.set 0
      i32.const 0
      local.get 0
      f64.const 0x1p+0 (;=1;)
      f64.eq
      i32.or
      local.get 0
      f64.const 0x1p+1 (;=2;)
      f64.eq
      i32.or
      local.get 0
      f64.const 0x1.8p+1 (;=3;)
      f64.eq
      i32.or
      i32.eqz
      br_if 0 (;@1;)
      drop
      i32.const 0
      call 0
      local.set 0
      i32.const 0
      local.get 0
      f64.const 0x1.6p+4 (;=22;)
      f64.eq
      i32.or
      local.get 0
      f64.const 0x1.7p+4 (;=23;)
      f64.eq
      i32.or
      i32.eqz
      local.get 0
      local.get 0
      f64.eq
      i32.and
    end
    i64.extend_i32_u
  )
)
