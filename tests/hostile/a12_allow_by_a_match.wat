;; harmless: approve
;; manifest: {"abi_version":1,"rules":[{"name":"a12_allow_by_a_match","verdict":"allow","score":0,"reason":"let it through"}]}
(module
  (func (export "evaluate") (result i64)
    i64.const 1))
