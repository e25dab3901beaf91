;; refused: exports
(module
)
