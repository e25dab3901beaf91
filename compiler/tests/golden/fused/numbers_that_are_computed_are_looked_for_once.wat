(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result f64)))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param f64 i32) (result i32)))
  (import "tollgate" "number" (func (;0;) (type 1)))
  (import "tollgate" "symbol" (func (;1;) (type 2)))
  (import "tollgate" "member_number" (func (;2;) (type 3)))
  (export "evaluate" (func 3))
  (func (;3;) (type 0) (result i64)
    (local f64 f64 i32 i32 i32)
    i32.const 0
    call 1
    local.set 2
    block (result i32) ;; label = @1
      i32.const 0
      local.get 2
      i32.const 0
      i32.eq
      i32.eqz
      br_if 0 (;@1;)
      drop
      i32.const 1
      call 0
      f64.const 0x1p+1 (;=2;)
      f64.mul
      i32.const 0
      call 2
      local.set 3
      i32.const 1
      local.set 4
      local.get 3
      i32.const 2
      i32.eq
    end
    i64.extend_i32_u
    block (result i32) ;; label = @1
      i32.const 0
      local.get 2
      i32.const 1
      i32.eq
      i32.eqz
      br_if 0 (;@1;)
      drop
      local.get 4
      i32.eqz
      if ;; label = @2
        i32.const 1
        call 0
        f64.const 0x1p+1 (;=2;)
        f64.mul
        i32.const 0
        call 2
        local.set 3
        i32.const 1
        local.set 4
      end
      local.get 3
      i32.const 1
      i32.eq
    end
    i64.extend_i32_u
    i64.const 1
    i64.shl
    i64.or
  )
)
