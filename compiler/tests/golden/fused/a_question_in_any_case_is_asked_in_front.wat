(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result f64)))
  (import "tollgate" "aggregate" (func (;0;) (type 1)))
  (import "tollgate" "comparable" (func (;1;) (type 1)))
  (export "evaluate" (func 2))
  (func (;2;) (type 0) (result i64)
    (local f64 f64 f64)
    i32.const 0
    call 0
    local.set 2
    local.get 2
    f64.const 0x1.4p+2 (;=5;)
    f64.gt
    i64.extend_i32_u
    i32.const 0
    call 1
    f64.const 0x1.f4p+9 (;=1000;)
    f64.gt
    local.get 2
    f64.const 0x1.8p+1 (;=3;)
    f64.gt
    i32.and
    i64.extend_i32_u
    i64.const 1
    i64.shl
    i64.or
  )
)
