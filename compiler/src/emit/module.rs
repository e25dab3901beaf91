//! Encodes the module sections around the function.

use std::borrow::Cow;

use tollgate_guest_abi::imports::{Import, MODULE, ValueType};
use tollgate_guest_abi::{EVALUATE_EXPORT, MANIFEST_SECTION, Manifest};
use wasm_encoder::{
    CodeSection, CustomSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    ImportSection, Module, TypeSection, ValType,
};

use crate::emit::body::FunctionCode;

/// Type index of `evaluate`; the types of the imports follow.
const EVALUATE_TYPE: u32 = 0;

type Signature = (&'static [ValueType], Option<ValueType>);

pub(super) fn encode(code: &FunctionCode, manifest: &Manifest) -> Vec<u8> {
    let mut signatures: Vec<Signature> = Vec::new();
    let mut imports = ImportSection::new();
    let mut n_imports = 0;
    for call in &code.calls {
        let import = call.import();
        let signature_type = EVALUATE_TYPE + 1 + intern_signature(&mut signatures, import);
        imports.import(MODULE, import.name, EntityType::Function(signature_type));
        n_imports += 1;
    }
    let mut types = TypeSection::new();
    types.ty().function([], [ValType::I64]);
    for (params, result) in signatures {
        types.ty().function(params.iter().map(|param| value_type(*param)), result.map(value_type));
    }
    let mut functions = FunctionSection::new();
    functions.function(EVALUATE_TYPE);
    let mut exports = ExportSection::new();
    exports.export(EVALUATE_EXPORT, ExportKind::Func, n_imports);
    let mut function = Function::new(code.locals.iter().copied());
    for instruction in &code.instructions {
        function.instruction(instruction);
    }
    let mut bodies = CodeSection::new();
    bodies.function(&function);

    let mut module = Module::new();
    module.section(&types);
    if n_imports > 0 {
        module.section(&imports);
    }
    module.section(&functions).section(&exports).section(&bodies).section(&CustomSection {
        name: Cow::Borrowed(MANIFEST_SECTION),
        data: Cow::Owned(manifest.to_bytes()),
    });
    module.finish()
}

/// Returns the index of an import's signature among the distinct ones.
fn intern_signature(signatures: &mut Vec<Signature>, import: &Import) -> u32 {
    let signature = (import.params, import.result);
    let index = signatures.iter().take_while(|known| **known != signature).count();
    if index == signatures.len() {
        signatures.push(signature);
    }
    // There is at most one signature per row of the import table.
    u32::try_from(index).unwrap_or(u32::MAX)
}

const fn value_type(value_type: ValueType) -> ValType {
    match value_type {
        ValueType::I32 => ValType::I32,
        ValueType::F64 => ValType::F64,
    }
}
