(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32) (result f64)))
  (import "tollgate" "symbol" (func (;0;) (type 1)))
  (import "tollgate" "kind" (func (;1;) (type 1)))
  (import "tollgate" "comparable" (func (;2;) (type 2)))
  (export "evaluate" (func 3))
  (func (;3;) (type 0) (result i64)
    (local f64 f64 i32 i64)
    i32.const 1
    call 0
    local.set 2
    i64.const 1
    local.get 2
    i64.extend_i32_u
    i64.shl
    i64.const 0
    local.get 2
    i32.const 6
    i32.shr_s
    i32.const 0
    i32.eq
    select
    local.set 3
    i32.const 0
    call 2
    f64.const 0x1.4p+2 (;=5;)
    f64.gt
    local.get 3
    i64.const 14
    i64.and
    i64.const 0
    i64.ne
    i32.and
    i64.extend_i32_u
    local.get 3
    i64.const 48
    i64.and
    i64.const 0
    i64.ne
    i32.const 1
    call 2
    f64.const 0x1.cp+2 (;=7;)
    f64.eq
    i32.or
    i32.eqz
    i32.const 1
    call 1
    i32.const 0
    i32.ne
    i32.and
    i32.const 2
    call 0
    i32.const 0
    i32.eq
    i32.and
    i64.extend_i32_u
    i64.const 1
    i64.shl
    i64.or
  )
)
