;; refused: features
(module
  (func (export "evaluate") (result i64)
    (i64.add128 (i64.const 0) (i64.const 0) (i64.const 0) (i64.const 0))
    drop))
