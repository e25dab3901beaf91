//! The checks that let a module in, run when it arrives and not when it is first called.

use tollgate_guest_abi::imports::{IMPORTS, Import, MODULE, ValueType};
use tollgate_guest_abi::limits::MODULE_BYTES_MAX;
use tollgate_guest_abi::{EVALUATE_EXPORT, MANIFEST_SECTION, Manifest, ManifestError, RULES_PER_MODULE_MAX};
use wasmparser::{Export, ExternalKind, FuncType, Parser, Payload, TypeRef, ValType};

/// Why a module is not let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Over the size limit.
    #[error("the module has {0} bytes, the limit is {MODULE_BYTES_MAX}")]
    TooLarge(usize),
    /// No WebAssembly.
    #[error("the module cannot be read: {0}")]
    Malformed(String),
    /// It holds what no rule needs: a memory, a table, a global, a start function, …
    #[error("a rule module has no {0}")]
    Forbidden(&'static str),
    /// It asks for a function that is not in the table, or by another type.
    #[error("the import `{0}` is not one of the host's functions")]
    Import(String),
    /// It does not export `evaluate: () -> i64` and that alone.
    #[error("a rule module exports `{EVALUATE_EXPORT}: () -> i64` and nothing else")]
    Export,
    /// It does not carry one readable manifest.
    #[error("{0}")]
    Manifest(#[from] ManifestError),
    /// It carries no manifest, or two.
    #[error("a rule module carries one section `{MANIFEST_SECTION}`")]
    ManifestCount,
    /// It answers for no rule, or for more than one `i64` can say.
    #[error("a module answers for 1 to {RULES_PER_MODULE_MAX} rules, this one for {0}")]
    RuleCount(usize),
    /// The engine does not take it.
    #[error("the module does not compile: {0}")]
    Compile(String),
}

/// Runs every check and gives the manifest.
pub(super) fn check(bytes: &[u8]) -> Result<Manifest, Refusal> {
    if bytes.len() > MODULE_BYTES_MAX {
        return Err(Refusal::TooLarge(bytes.len()));
    }
    let mut seen = Seen::default();
    for payload in Parser::new(0).parse_all(bytes) {
        seen.look_at(payload.map_err(malformed)?)?;
    }
    if !seen.exports_evaluate {
        return Err(Refusal::Export);
    }
    let manifest = seen.manifest.ok_or(Refusal::ManifestCount)?;
    if manifest.rules.is_empty() || manifest.rules.len() > RULES_PER_MODULE_MAX {
        return Err(Refusal::RuleCount(manifest.rules.len()));
    }
    Ok(manifest)
}

/// What the walk over the sections has met.
#[derive(Default)]
struct Seen {
    types: Vec<FuncType>,
    /// Type of each function, imported ones first.
    functions: Vec<u32>,
    exports_evaluate: bool,
    manifest: Option<Manifest>,
}

impl Seen {
    fn look_at(&mut self, payload: Payload<'_>) -> Result<(), Refusal> {
        match payload {
            Payload::TypeSection(types) => {
                for group in types {
                    for member in group.map_err(malformed)?.into_types() {
                        match member.composite_type.inner {
                            wasmparser::CompositeInnerType::Func(function) => self.types.push(function),
                            _ => return Err(Refusal::Forbidden("type but those of functions")),
                        }
                    }
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    self.import(&import.map_err(malformed)?)?;
                }
            }
            Payload::FunctionSection(functions) => {
                for function in functions {
                    self.functions.push(function.map_err(malformed)?);
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    self.export(&export.map_err(malformed)?)?;
                }
            }
            Payload::CustomSection(section) if section.name() == MANIFEST_SECTION => {
                let manifest = Manifest::from_bytes(section.data())?;
                if self.manifest.replace(manifest).is_some() {
                    return Err(Refusal::ManifestCount);
                }
            }
            Payload::StartSection { .. } => return Err(Refusal::Forbidden("start function")),
            Payload::MemorySection(_) => return Err(Refusal::Forbidden("memory")),
            Payload::TableSection(_) => return Err(Refusal::Forbidden("table")),
            Payload::GlobalSection(_) => return Err(Refusal::Forbidden("global")),
            Payload::DataSection(_) | Payload::DataCountSection { .. } => {
                return Err(Refusal::Forbidden("data"));
            }
            Payload::ElementSection(_) => return Err(Refusal::Forbidden("elements")),
            Payload::TagSection(_) => return Err(Refusal::Forbidden("tags")),
            // The engine judges the rest: headers, code, unknown sections.
            _ => {}
        }
        Ok(())
    }

    fn import(&mut self, import: &wasmparser::Import<'_>) -> Result<(), Refusal> {
        let refused =
            || Refusal::Import(format!("{}.{}", import.module, import.name).escape_debug().to_string());
        let TypeRef::Func(index) = import.ty else { return Err(refused()) };
        let allowed = IMPORTS.iter().find(|row| row.name == import.name).filter(|_| import.module == MODULE);
        match (allowed, self.types.get(index as usize)) {
            (Some(row), Some(function)) if has_type(row, function) => {
                self.functions.push(index);
                Ok(())
            }
            _ => Err(refused()),
        }
    }

    fn export(&mut self, export: &Export<'_>) -> Result<(), Refusal> {
        let function =
            self.functions.get(export.index as usize).and_then(|&index| self.types.get(index as usize));
        let is_evaluate = export.kind == ExternalKind::Func
            && export.name == EVALUATE_EXPORT
            && function
                .is_some_and(|function| function.params().is_empty() && function.results() == [ValType::I64]);
        if !is_evaluate || self.exports_evaluate {
            return Err(Refusal::Export);
        }
        self.exports_evaluate = true;
        Ok(())
    }
}

fn has_type(row: &Import, function: &FuncType) -> bool {
    let same = |ours: &ValueType, theirs: &ValType| {
        *theirs
            == match ours {
                ValueType::I32 => ValType::I32,
                ValueType::F64 => ValType::F64,
            }
    };
    let are_same = |ours: &[ValueType], theirs: &[ValType]| {
        ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| same(ours, theirs))
    };
    are_same(row.params, function.params()) && are_same(row.result.as_slice(), function.results())
}

fn malformed(error: wasmparser::BinaryReaderError) -> Refusal {
    Refusal::Malformed(error.to_string())
}
