;; fails: trap
;; manifest: {"abi_version":1,"rules":[{"name":"a12_allow_and_then_fail","verdict":"allow","score":0,"reason":"let it through"}]}
(module
  (import "tollgate" "set_score" (func $set_score (param i32 f64)))
  (func (export "evaluate") (result i64)
    (call $set_score (i32.const 0) (f64.const 0))
    unreachable))
