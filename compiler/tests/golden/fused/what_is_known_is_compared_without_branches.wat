(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32) (result f64)))
  (import "tollgate" "symbol" (func (;0;) (type 1)))
  (import "tollgate" "kind" (func (;1;) (type 1)))
  (import "tollgate" "comparable" (func (;2;) (type 2)))
  (export "evaluate" (func 3))
  (func (;3;) (type 0) (result i64)
    (local f64 f64 f64 i32)
    i32.const 1
    call 0
    local.set 3
    i32.const 0
    call 2
    local.set 2
    local.get 2
    f64.const 0x1.f4p+9 (;=1000;)
    f64.gt
    local.get 3
    i32.const 0
    i32.eq
    i32.and
    i64.extend_i32_u
    local.get 2
    f64.const 0x1.4p+3 (;=10;)
    f64.lt
    local.get 3
    i32.const 1
    i32.ne
    i32.const 1
    call 1
    i32.const 0
    i32.ne
    i32.and
    i32.or
    i64.extend_i32_u
    i64.const 1
    i64.shl
    i64.or
  )
)
