;; harmless: approve
;; The second run would trap if the first could drop its segment.
(module
  (memory (export "memory") 1)
  (data $d "\01")
  (func (export "evaluate") (result i64)
    (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1))
    data.drop $d
    i64.const 0))
