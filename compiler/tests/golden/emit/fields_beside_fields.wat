(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result f64)))
  (type (;2;) (func (param i32 i32) (result i32)))
  (import "tollgate" "number" (func (;0;) (type 1)))
  (import "tollgate" "relate" (func (;1;) (type 2)))
  (export "evaluate" (func 2))
  (func (;2;) (type 0) (result i64)
    (local f64 f64 f64)
    i32.const 2
    call 0
    local.set 2
    block (result i32) ;; label = @1
      i32.const 0
      i32.const 0
      i32.const 1
      call 1
      i32.const 1
      i32.and
      i32.const 0
      i32.ne
      i32.eqz
      br_if 0 (;@1;)
      local.get 2
      i32.const 3
      call 0
      f64.gt
      i32.eqz
      br_if 0 (;@1;)
      drop
      local.get 2
      local.get 2
      f64.ge
    end
    i64.extend_i32_u
  )
)
