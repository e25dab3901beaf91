//! Checks the structure of a module from its bytes.

use std::path::Path;

use tollgate_guest_abi::imports::{IMPORTS, MODULE, ValueType};
use tollgate_guest_abi::limits::MEMORY_PAGES_MAX;
use tollgate_guest_abi::{EVALUATE_EXPORT, MANIFEST_SECTION, Manifest};
use tollgate_tests::repository;
use wasmparser::types::TypesRef;
use wasmparser::{ExternalKind, Parser, Payload, TypeRef, ValType, Validator, WasmFeatures};

/// The WebAssembly features that `docs/abi.md` allows.
const FEATURES: WasmFeatures = WasmFeatures::MUTABLE_GLOBAL
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY)
    .union(WasmFeatures::FLOATS);

/// Checks that the host would admit the module of the rule in this folder and that its manifest matches the file there.
#[track_caller]
pub(crate) fn check(module: &[u8], folder: &Path) {
    let rule = &*repository::name(folder);
    let types = match Validator::new_with_features(FEATURES).validate_all(module) {
        Ok(types) => types,
        Err(error) => panic!("{rule}: {error}"),
    };
    let types = types.as_ref();
    let mut exports = Vec::new();
    let mut manifests = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload.unwrap() {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    check_import(&import.unwrap(), types, rule);
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    assert!(memory.unwrap().initial <= MEMORY_PAGES_MAX, "{rule}: too much memory");
                }
            }
            Payload::ExportSection(section) => {
                exports.extend(section.into_iter().map(|export| {
                    let export = export.unwrap();
                    (export.name.to_owned(), export.kind, export.index)
                }));
            }
            Payload::CustomSection(section) if section.name() == MANIFEST_SECTION => {
                manifests.push(Manifest::from_bytes(section.data()).unwrap());
            }
            Payload::StartSection { .. } => panic!("{rule}: a start function"),
            _ => {}
        }
    }
    check_exports(&mut exports, types, rule);
    let written = Manifest::from_bytes(repository::read(&folder.join("manifest.json")).as_bytes()).unwrap();
    assert_eq!(written.rules.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), [rule]);
    assert_eq!(manifests, [written], "{rule}: it carries another manifest than lies beside it");
}

fn check_import(import: &wasmparser::Import<'_>, types: TypesRef<'_>, rule: &str) {
    assert_eq!(import.module, MODULE, "{rule}");
    let row = IMPORTS.iter().find(|row| row.name == import.name);
    let row = row.unwrap_or_else(|| panic!("{rule}: no import is called `{}`", import.name));
    let TypeRef::Func(index) = import.ty else { panic!("{rule}: `{}` is no function", row.name) };
    let function = types[types.core_type_at_in_module(index)].unwrap_func();
    let params: Vec<ValType> = row.params.iter().copied().map(val_type).collect();
    let results: Vec<ValType> = row.result.into_iter().map(val_type).collect();
    assert_eq!((function.params(), function.results()), (&params[..], &results[..]), "{}", row.name);
}

fn check_exports(exports: &mut Vec<(String, ExternalKind, u32)>, types: TypesRef<'_>, rule: &str) {
    // Linkers leave immutable globals behind.
    exports.retain(|(_, kind, index)| *kind != ExternalKind::Global || types.global_at(*index).mutable);
    exports.sort_by(|one, other| one.0.cmp(&other.0));
    let names: Vec<(&str, ExternalKind)> =
        exports.iter().map(|(name, kind, _)| (name.as_str(), *kind)).collect();
    assert_eq!(names, [(EVALUATE_EXPORT, ExternalKind::Func), ("memory", ExternalKind::Memory)], "{rule}");
    let function = types[types.core_function_at(exports[0].2)].unwrap_func();
    assert_eq!((function.params(), function.results()), (&[][..], &[ValType::I64][..]), "{rule}");
}

const fn val_type(value_type: ValueType) -> ValType {
    match value_type {
        ValueType::I32 => ValType::I32,
        ValueType::F64 => ValType::F64,
    }
}
