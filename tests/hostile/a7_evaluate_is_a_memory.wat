;; refused: exports
(module
  (memory (export "evaluate") 1))
