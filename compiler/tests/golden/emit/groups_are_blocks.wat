(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32) (result f64)))
  (import "tollgate" "symbol" (func (;0;) (type 1)))
  (import "tollgate" "comparable" (func (;1;) (type 2)))
  (export "evaluate" (func 2))
  (func (;2;) (type 0) (result i64)
    (local f64 f64)
    block (result i32) ;; label = @1
      i32.const 0
      block (result i32) ;; label = @2
        i32.const 1
        i32.const 0
        call 1
        f64.const 0x1.4p+3 (;=10;)
        f64.gt
        br_if 0 (;@2;)
        drop
        i32.const 1
        call 0
        i32.const 0
        i32.eq
      end
      i32.eqz
      br_if 0 (;@1;)
      drop
      block (result i32) ;; label = @2
        i32.const 0
        i32.const 2
        call 0
        i32.const 1
        i32.eq
        i32.eqz
        br_if 0 (;@2;)
        drop
        i32.const 3
        call 0
        i32.const 2
        i32.eq
      end
      i32.eqz
    end
    i64.extend_i32_u
  )
)
