(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32 i32) (result i32)))
  (import "tollgate" "relate_operands" (func (;0;) (type 1)))
  (export "evaluate" (func 1))
  (func (;1;) (type 0) (result i64)
    (local f64 f64)
    block (result i32) ;; label = @1
      i32.const 0
      i32.const 0
      i32.const 1
      call 0
      i32.const 8
      i32.and
      i32.const 0
      i32.ne
      i32.eqz
      br_if 0 (;@1;)
      drop
      i32.const 4
      i32.const 0
      call 0
      i32.const 20
      i32.and
      i32.const 0
      i32.ne
    end
    i64.extend_i32_u
  )
)
