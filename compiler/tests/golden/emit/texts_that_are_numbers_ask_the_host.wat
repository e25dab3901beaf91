(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result f64)))
  (type (;2;) (func (param i32 i32) (result i32)))
  (import "tollgate" "comparable" (func (;0;) (type 1)))
  (import "tollgate" "relate_operands" (func (;1;) (type 2)))
  (export "evaluate" (func 2))
  (func (;2;) (type 0) (result i64)
    (local f64 f64)
    block (result i32) ;; label = @1
      i32.const 0
      i32.const 0
      i32.const 1
      call 1
      i32.const 8
      i32.and
      i32.const 0
      i32.ne
      i32.eqz
      br_if 0 (;@1;)
      i32.const 0
      i32.const 5
      call 1
      i32.const 2
      i32.and
      i32.const 0
      i32.ne
      i32.eqz
      br_if 0 (;@1;)
      drop
      i32.const 1
      call 0
      f64.const 0x1.5p+5 (;=42;)
      f64.eq
    end
    i64.extend_i32_u
  )
)
