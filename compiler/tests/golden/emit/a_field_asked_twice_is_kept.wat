(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32) (result f64)))
  (import "tollgate" "symbol" (func (;0;) (type 1)))
  (import "tollgate" "kind" (func (;1;) (type 1)))
  (import "tollgate" "comparable" (func (;2;) (type 2)))
  (export "evaluate" (func 3))
  (func (;3;) (type 0) (result i64)
    (local f64 f64 f64 i32 i32)
    i32.const 1
    call 0
    local.set 3
    i32.const 1
    call 1
    local.set 4
    i32.const 0
    call 2
    local.set 2
    block (result i32) ;; label = @1
      i32.const 0
      local.get 2
      f64.const 0x1.4p+3 (;=10;)
      f64.gt
      i32.eqz
      br_if 0 (;@1;)
      local.get 2
      f64.const 0x1.9p+6 (;=100;)
      f64.lt
      i32.eqz
      br_if 0 (;@1;)
      local.get 3
      i32.const 0
      i32.ne
      local.get 4
      i32.const 0
      i32.ne
      i32.and
      i32.eqz
      br_if 0 (;@1;)
      drop
      local.get 3
      i32.const 1
      i32.ne
      local.get 4
      i32.const 0
      i32.ne
      i32.and
    end
    i64.extend_i32_u
  )
)
