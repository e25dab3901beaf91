;; harmless: approve
;; Other custom sections are for tools; nothing reads them.
(module
  (func (export "evaluate") (result i64)
    i64.const 0)
  (@custom "\1b[31mred\00\0d\0a" "custom"))
