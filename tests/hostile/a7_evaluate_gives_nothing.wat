;; refused: exports
(module
  (func (export "evaluate")))
