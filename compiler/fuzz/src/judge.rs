//! Properties that must hold for every script.

use tollgate_compiler::emit::{EmitError, emit};
use tollgate_compiler::{CompileOptions, compile};
use tollgate_guest_abi::limits::MODULE_BYTES_MAX;
use wasmparser::{Validator, WasmFeatures};

/// WebAssembly features that a compiled module may use.
const FEATURES: WasmFeatures = WasmFeatures::WASM1
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY);

/// Compiles a script and asserts that a resulting rule emits a valid module and that a refused script has a diagnostic.
pub fn judge(script: &str) {
    let compiled = compile(script, &CompileOptions::default());
    for diagnostic in &compiled.diagnostics {
        assert!(script.get(diagnostic.span.clone()).is_some(), "a diagnostic points into the script");
    }
    let Some(rule) = compiled.rule else {
        assert!(!compiled.diagnostics.is_empty(), "a refused script has a diagnostic");
        return;
    };
    match emit(&[rule.clone(), rule]) {
        Ok(module) => {
            assert!(module.bytes.len() <= MODULE_BYTES_MAX);
            assert_eq!(module.manifest.rules.len(), 2);
            if let Err(error) = Validator::new_with_features(FEATURES).validate_all(&module.bytes) {
                panic!("the module is not valid: {error}");
            }
        }
        Err(EmitError::TooLarge { .. } | EmitError::TooComplex { .. }) => {}
        Err(error) => panic!("a checked rule always makes a module: {error}"),
    }
}
