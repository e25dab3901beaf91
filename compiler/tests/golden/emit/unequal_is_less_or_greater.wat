(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result f64)))
  (type (;2;) (func (param i32) (result i32)))
  (import "tollgate" "number" (func (;0;) (type 1)))
  (import "tollgate" "kind" (func (;1;) (type 2)))
  (import "tollgate" "comparable" (func (;2;) (type 1)))
  (export "evaluate" (func 3))
  (func (;3;) (type 0) (result i64)
    (local f64 f64)
    block (result i32) ;; label = @1
      i32.const 0
      i32.const 0
      call 0
      f64.const 0x1p+0 (;=1;)
      f64.add
      local.tee 0
      i32.const 1
      call 0
      f64.ne
      local.get 0
      local.get 0
      f64.eq
      i32.and
      i32.const 1
      call 1
      i32.const 0
      i32.ne
      i32.and
      i32.eqz
      br_if 0 (;@1;)
      i32.const 2
      call 2
      f64.const 0x1.5p+5 (;=42;)
      f64.ne
      i32.eqz
      br_if 0 (;@1;)
      drop
      f64.const 0x1.5p+5 (;=42;)
      i32.const 0
      call 2
      f64.ne
      i32.const 0
      call 1
      i32.const 0
      i32.ne
      i32.and
    end
    i64.extend_i32_u
  )
)
