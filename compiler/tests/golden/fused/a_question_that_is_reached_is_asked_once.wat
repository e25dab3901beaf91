(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32 i32) (result i32)))
  (type (;3;) (func (param i32) (result f64)))
  (import "tollgate" "symbol" (func (;0;) (type 1)))
  (import "tollgate" "matches" (func (;1;) (type 2)))
  (import "tollgate" "comparable" (func (;2;) (type 3)))
  (export "evaluate" (func 3))
  (func (;3;) (type 0) (result i64)
    (local f64 f64 f64 i32 i32 i32)
    i32.const 2
    call 0
    local.set 3
    i32.const 0
    call 2
    local.set 2
    block (result i32) ;; label = @1
      i32.const 0
      local.get 2
      f64.const 0x1.f4p+9 (;=1000;)
      f64.gt
      i32.eqz
      br_if 0 (;@1;)
      drop
      i32.const 1
      i32.const 0
      call 1
      local.set 4
      i32.const 1
      local.set 5
      local.get 4
      i32.const 2
      i32.eq
    end
    i64.extend_i32_u
    block (result i32) ;; label = @1
      i32.const 0
      local.get 3
      i32.const 0
      i32.eq
      i32.eqz
      br_if 0 (;@1;)
      drop
      local.get 5
      i32.eqz
      if ;; label = @2
        i32.const 1
        i32.const 0
        call 1
        local.set 4
        i32.const 1
        local.set 5
      end
      local.get 4
      i32.const 2
      i32.eq
      local.get 2
      f64.const 0x1.4p+2 (;=5;)
      f64.lt
      i32.and
    end
    i64.extend_i32_u
    i64.const 1
    i64.shl
    i64.or
    block (result i32) ;; label = @1
      i32.const 0
      local.get 3
      i32.const 1
      i32.eq
      i32.eqz
      br_if 0 (;@1;)
      drop
      local.get 5
      i32.eqz
      if ;; label = @2
        i32.const 1
        i32.const 0
        call 1
        local.set 4
        i32.const 1
        local.set 5
      end
      local.get 4
      i32.const 1
      i32.eq
    end
    i64.extend_i32_u
    i64.const 2
    i64.shl
    i64.or
  )
)
