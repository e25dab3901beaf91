;; refused: features or sections
(module
  (tag $oops)
  (func (export "evaluate") (result i64)
    (throw $oops)))
