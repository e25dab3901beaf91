(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32) (result f64)))
  (import "tollgate" "symbol" (func (;0;) (type 1)))
  (import "tollgate" "previous" (func (;1;) (type 1)))
  (import "tollgate" "comparable" (func (;2;) (type 2)))
  (export "evaluate" (func 3))
  (func (;3;) (type 0) (result i64)
    (local f64 f64)
    block (result i32) ;; label = @1
      i32.const 1
      i32.const 0
      call 2
      f64.const 0x1.f4p+9 (;=1000;)
      f64.ge
      br_if 0 (;@1;)
      i32.const 1
      call 0
      i32.const 0
      i32.eq
      br_if 0 (;@1;)
      drop
      i32.const 0
      call 1
    end
    i64.extend_i32_u
  )
)
