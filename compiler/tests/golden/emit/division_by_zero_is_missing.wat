(module
  (type (;0;) (func (result i64)))
  (type (;1;) (func (param i32) (result f64)))
  (import "tollgate" "number" (func (;0;) (type 1)))
  (export "evaluate" (func 1))
  (func (;1;) (type 0) (result i64)
    (local f64 f64 f64)
    i32.const 0
    call 0
    local.set 2
    block (result i32) ;; label = @1
      i32.const 0
      local.get 2
      i32.const 1
      call 0
      local.tee 1
      f64.div
      f64.const nan (;=NaN;)
      local.get 1
      f64.const 0x0p+0 (;=0;)
      f64.ne
      select
      f64.const 0x1.4p+3 (;=10;)
      f64.gt
      i32.eqz
      br_if 0 (;@1;)
      local.get 2
      f64.const 0x1p+2 (;=4;)
      f64.div
      f64.const 0x1.9p+6 (;=100;)
      f64.lt
      i32.eqz
      br_if 0 (;@1;)
      drop
      i32.const 2
      call 0
      f64.neg
      f64.const 0x0p+0 (;=0;)
      f64.gt
    end
    i64.extend_i32_u
  )
)
