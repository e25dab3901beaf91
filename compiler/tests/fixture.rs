//! Checks that modules stored under an ABI version are still readable.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use tollgate_compiler::emit::emit;
use tollgate_compiler::{CompileOptions, compile};
use tollgate_guest_abi::imports::{Call, IMPORTS, MODULE, ValueType};
use tollgate_guest_abi::{ABI_VERSION, MANIFEST_SECTION, Manifest, Semantics};
use wasmparser::{CompositeInnerType, FuncType, Parser, Payload, TypeRef, ValType};

#[derive(Debug, Default)]
struct Passport {
    manifest: Option<Manifest>,
    imports: Vec<(String, FuncType)>,
}

fn read(bytes: &[u8]) -> Passport {
    let mut passport = Passport::default();
    let mut types = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.unwrap() {
            Payload::TypeSection(section) => {
                for group in section {
                    for member in group.unwrap().into_types() {
                        let CompositeInnerType::Func(function) = member.composite_type.inner else {
                            continue;
                        };
                        types.push(function);
                    }
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.unwrap();
                    assert_eq!(import.module, MODULE);
                    let TypeRef::Func(index) = import.ty else { continue };
                    passport.imports.push((import.name.to_owned(), types[index as usize].clone()));
                }
            }
            Payload::CustomSection(section) if section.name() == MANIFEST_SECTION => {
                passport.manifest = Some(Manifest::from_bytes(section.data()).unwrap());
            }
            _ => {}
        }
    }
    passport
}

const fn val_type(value_type: ValueType) -> ValType {
    match value_type {
        ValueType::I32 => ValType::I32,
        ValueType::F64 => ValType::F64,
    }
}

/// Asserts that every import is still a row of the import table.
#[track_caller]
fn check_imports(passport: &Passport) {
    for (name, function) in &passport.imports {
        let row = IMPORTS.iter().find(|row| row.name == name);
        let expected = row.map(|row| {
            let params = row.params.iter().map(|param| val_type(*param));
            FuncType::new(params, row.result.map(val_type))
        });
        assert_eq!(expected.as_ref(), Some(function), "`{name}`");
    }
}

#[test]
fn the_module_of_semantics_2_is_still_understood() {
    let stored = read(include_bytes!("../../guest-abi/fixtures/semantics-2.wasm"));
    check_imports(&stored);
    assert_eq!(stored.imports.len(), 15, "it uses every import that scripts had");
    let manifest = stored.manifest.unwrap();
    assert_eq!((manifest.abi_version, manifest.semantics), (1, Semantics::V2));
    assert_eq!(manifest.needs.aggregates.len(), 3);
}

#[test]
fn the_module_of_version_1_is_still_understood() {
    let stored = read(include_bytes!("../../guest-abi/fixtures/abi-1.wasm"));
    check_imports(&stored);
    assert_eq!(stored.imports.len(), 13, "it uses every import there was");
    let manifest = stored.manifest.unwrap();
    assert_eq!((manifest.abi_version, manifest.semantics), (1, Semantics::V1));
    assert_eq!(manifest.rules[0].name, "Every_import");
    let needs = &manifest.needs;
    assert_eq!(needs.fields.len(), 7);
    assert_eq!(needs.texts, ["EUR", "failed", "100", "vip"]);
    assert_eq!((needs.lists.len(), needs.patterns.len(), needs.times.len()), (3, 2, 1));
    assert_eq!((needs.aggregates.len(), needs.previous.len()), (1, 1));
}

#[test]
fn the_script_of_the_fixture_still_asks_every_question() {
    let script = include_str!("../../guest-abi/fixtures/semantics-2.ws");
    let rule = compile(script, &CompileOptions::default()).rule.unwrap();
    let module = emit(&[rule]).unwrap();
    let passport = read(&module.bytes);
    check_imports(&passport);
    let n_askable = Call::ALL.iter().filter(|call| call.is_for_scripts()).count();
    assert_eq!(passport.imports.len(), n_askable, "a new import needs a new question in the script");
    assert_eq!(module.manifest.abi_version, ABI_VERSION);
}
