(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32 i32) (result i32)))
  (import "tollgate" "member_text" (func (;0;) (type 1)))
  (import "tollgate" "member_operand" (func (;1;) (type 1)))
  (export "evaluate" (func 2))
  (func (;2;) (type 0) (result i64)
    (local f64 f64)
    block (result i32) ;; label = @1
      i32.const 0
      i32.const 0
      i32.const 0
      call 0
      i32.const 2
      i32.eq
      i32.eqz
      br_if 0 (;@1;)
      i32.const 1
      i32.const 1
      call 0
      i32.const 1
      i32.eq
      i32.eqz
      br_if 0 (;@1;)
      drop
      i32.const 10
      i32.const 2
      call 1
      i32.const 2
      i32.eq
    end
    i64.extend_i32_u
  )
)
