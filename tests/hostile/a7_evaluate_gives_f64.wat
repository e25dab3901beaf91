;; refused: exports
(module
  (func (export "evaluate") (result f64) (f64.const 0)))
