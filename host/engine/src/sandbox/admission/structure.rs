//! Reads the sections of a module.

use tollgate_guest_abi::imports::{Call, IMPORTS, Import, MODULE, ValueType};
use tollgate_guest_abi::limits::{
    EXPORTS_MAX, FUNCTIONS_MAX, GLOBALS_MAX, IMPORTS_MAX, PARAMS_MAX, SEGMENTS_MAX, TABLE_ELEMENTS_MAX,
    TYPES_MAX,
};
use tollgate_guest_abi::{EVALUATE_EXPORT, MANIFEST_SECTION};
use wasmparser::{
    BinaryReaderError, CompositeInnerType, Encoding, Export, ExternalKind, FromReader, FuncType, Parser,
    Payload, SectionLimited, TypeRef, ValType,
};

use super::body::Bodies;
use super::call_sites::CallSites;
use super::finding::{AdmissionCheck, AdmissionFindings};
use tollgate_model::instruction::{Origin, PAGE_BYTES};

/// The export name of a module's memory, which the host uses to copy texts.
pub(in crate::sandbox) const MEMORY_EXPORT: &str = "memory";

pub(super) struct Structure<'m> {
    origin: Origin,
    /// Type of each function, imported ones first.
    functions: Vec<u32>,
    n_imported: usize,
    pub(super) types: Vec<Option<FuncType>>,
    n_memories: usize,
    n_tables: usize,
    mutable_globals: Vec<bool>,
    exports_evaluate: bool,
    exports_memory: bool,
    bodies: Bodies,
    /// Calls of each imported function, and what the calls in the code cost.
    imported: Vec<Option<Call>>,
    pub(super) calls: CallSites,
    /// All manifest sections: offset and contents.
    pub(super) manifests: Vec<(usize, &'m [u8])>,
    /// Whether the module has state that could survive a call.
    pub(super) remembers: bool,
    /// Whether the module was read to its end.
    pub(super) is_whole: bool,
}

impl<'m> Structure<'m> {
    /// Walks as far as the bytes can be read.
    pub(super) fn read(bytes: &'m [u8], origin: Origin, findings: &mut AdmissionFindings) -> Self {
        let mut structure = Self {
            origin,
            functions: Vec::new(),
            n_imported: 0,
            types: Vec::new(),
            n_memories: 0,
            n_tables: 0,
            mutable_globals: Vec::new(),
            exports_evaluate: false,
            exports_memory: false,
            bodies: Bodies::default(),
            imported: Vec::new(),
            calls: CallSites::default(),
            manifests: Vec::new(),
            remembers: false,
            is_whole: false,
        };
        if let Err(error) = structure.walk(bytes, findings) {
            let message = || format!("the module cannot be read: {}", error.message());
            findings.add(AdmissionCheck::Format, Some(error.offset()), message);
            return structure;
        }
        structure.is_whole = true;
        if !structure.exports_evaluate {
            findings.add(AdmissionCheck::Exports, None, || {
                format!("a rule module exports `{EVALUATE_EXPORT}: () -> i64`; this one does not")
            });
        }
        if structure.n_memories > 0 && !structure.exports_memory {
            findings.add(AdmissionCheck::Exports, None, || {
                format!("a module with a memory exports it as `{MEMORY_EXPORT}`; this one does not")
            });
        }
        structure
    }

    fn walk(&mut self, bytes: &'m [u8], findings: &mut AdmissionFindings) -> Result<(), BinaryReaderError> {
        for payload in Parser::new(0).parse_all(bytes) {
            self.look_at(payload?, findings)?;
        }
        Ok(())
    }

    fn look_at(
        &mut self,
        payload: Payload<'m>,
        findings: &mut AdmissionFindings,
    ) -> Result<(), BinaryReaderError> {
        match payload {
            Payload::Version { encoding: Encoding::Component, range, .. } => {
                findings
                    .add(AdmissionCheck::Format, Some(range.start), || "components are refused".to_owned());
            }
            Payload::TypeSection(types) => {
                self.limit(findings, AdmissionCheck::Types, &types, "types", TYPES_MAX);
                let at = types.range().start;
                for group in types {
                    for member in group?.into_types() {
                        self.member_type(member.composite_type.inner, at, findings);
                    }
                }
            }
            Payload::ImportSection(imports) => {
                self.limit(findings, AdmissionCheck::Imports, &imports, "imports", IMPORTS_MAX);
                let at = imports.range().start;
                for import in imports.into_imports() {
                    self.import(&import?, at, findings);
                }
            }
            Payload::FunctionSection(functions) => {
                self.limit(findings, AdmissionCheck::Functions, &functions, "functions", FUNCTIONS_MAX);
                for function in functions {
                    self.functions.push(function?);
                }
            }
            Payload::GlobalSection(globals) => {
                self.forbid(findings, AdmissionCheck::Globals, globals.range().start, "global");
                self.limit(findings, AdmissionCheck::Globals, &globals, "globals", GLOBALS_MAX);
                for global in globals {
                    let is_mutable = global?.ty.mutable;
                    self.mutable_globals.push(is_mutable);
                    self.remembers |= is_mutable;
                }
            }
            Payload::ExportSection(exports) => {
                self.limit(findings, AdmissionCheck::Exports, &exports, "exports", EXPORTS_MAX);
                for export in exports.into_iter_with_offsets() {
                    let (at, export) = export?;
                    self.export(&export, at, findings);
                }
            }
            Payload::CustomSection(section) if section.name() == MANIFEST_SECTION => {
                self.manifests.push((section.data_offset(), section.data()));
            }
            other => return self.look_at_storage(other, findings),
        }
        Ok(())
    }

    /// Checks storage sections and code.
    fn look_at_storage(
        &mut self,
        payload: Payload<'m>,
        findings: &mut AdmissionFindings,
    ) -> Result<(), BinaryReaderError> {
        match payload {
            Payload::MemorySection(memories) => {
                self.forbid(findings, AdmissionCheck::Memory, memories.range().start, "memory");
                for memory in memories.into_iter_with_offsets() {
                    let (at, memory) = memory?;
                    self.memory(memory.initial, at, findings);
                }
            }
            Payload::TableSection(tables) => {
                self.forbid(findings, AdmissionCheck::Table, tables.range().start, "table");
                for table in tables.into_iter_with_offsets() {
                    let (at, table) = table?;
                    self.n_tables += 1;
                    self.remembers = true;
                    findings.limit(AdmissionCheck::Table, at, "tables", self.n_tables as u64, 1);
                    findings.limit(
                        AdmissionCheck::Table,
                        at,
                        "elements of a table",
                        table.ty.initial,
                        TABLE_ELEMENTS_MAX,
                    );
                }
            }
            Payload::DataSection(segments) => {
                self.forbid(findings, AdmissionCheck::Data, segments.range().start, "data");
                self.limit(findings, AdmissionCheck::Data, &segments, "segments of data", SEGMENTS_MAX);
            }
            Payload::DataCountSection { range, .. } => {
                self.forbid(findings, AdmissionCheck::Data, range.start, "data");
            }
            Payload::ElementSection(segments) => {
                self.forbid(findings, AdmissionCheck::Elements, segments.range().start, "elements");
                self.limit(
                    findings,
                    AdmissionCheck::Elements,
                    &segments,
                    "segments of elements",
                    SEGMENTS_MAX,
                );
            }
            Payload::StartSection { range, .. } => {
                findings.add(AdmissionCheck::Start, Some(range.start), || {
                    "a rule module must have no start function: nothing may run before `evaluate`".to_owned()
                });
            }
            Payload::TagSection(tags) => {
                findings.add(AdmissionCheck::Sections, Some(tags.range().start), || {
                    "a rule module must have no tag section".to_owned()
                });
            }
            Payload::CodeSectionEntry(body) if self.origin != Origin::Compiler => {
                let function_index = self.n_imported + self.bodies.n_read;
                let n_params = self.type_of(function_index).map_or(0, |function| function.params().len());
                self.bodies.read(&body, n_params, &self.types, findings)?;
            }
            Payload::CodeSectionEntry(body) => self.calls.count(&body, &self.imported)?,
            // The validator checks the rest: headers, order and unknown sections.
            _ => {}
        }
        Ok(())
    }

    fn limit<T: FromReader<'m>>(
        &self,
        findings: &mut AdmissionFindings,
        check: AdmissionCheck,
        section: &SectionLimited<'m, T>,
        what: &str,
        n_max: usize,
    ) {
        if self.origin != Origin::Compiler {
            findings.limit(check, section.range().start, what, section.count().into(), n_max as u64);
        }
    }

    /// Forbids a section in modules of the compiler.
    fn forbid(&self, findings: &mut AdmissionFindings, check: AdmissionCheck, at: usize, what: &str) {
        if self.origin == Origin::Compiler {
            findings.add(check, Some(at), || format!("a compiled rule must have no {what}"));
        }
    }

    fn member_type(&mut self, inner: CompositeInnerType, at: usize, findings: &mut AdmissionFindings) {
        let CompositeInnerType::Func(function) = inner else {
            findings.add(AdmissionCheck::Types, Some(at), || "only function types are allowed".to_owned());
            self.types.push(None);
            return;
        };
        if self.origin != Origin::Compiler {
            findings.limit(
                AdmissionCheck::Types,
                at,
                "parameters",
                function.params().len() as u64,
                PARAMS_MAX as u64,
            );
            findings.limit(AdmissionCheck::Types, at, "results", function.results().len() as u64, 1);
        }
        self.types.push(Some(function));
    }

    fn import(&mut self, import: &wasmparser::Import<'_>, at: usize, findings: &mut AdmissionFindings) {
        let mut refuse = |why: &str| {
            let name = format!("{}.{}", import.module, import.name);
            findings.add(AdmissionCheck::Imports, Some(at), || format!("the import `{name}` {why}"));
        };
        let index = match import.ty {
            TypeRef::Func(index) | TypeRef::FuncExact(index) => Some(index),
            _ => None,
        };
        let function = index.and_then(|index| self.types.get(index as usize)?.as_ref());
        let row = IMPORTS.iter().find(|row| row.name == import.name).filter(|_| import.module == MODULE);
        match (row, function) {
            (None, _) => refuse("is not one of the host's functions"),
            (Some(row), Some(function)) if has_type(row, function) => {}
            (Some(_), _) => refuse("has another type than the host's function"),
        }
        if let Some(index) = index {
            self.functions.push(index);
            self.n_imported += 1;
            let call = Call::ALL.into_iter().find(|call| call.import().name == import.name);
            self.imported.push(call);
        }
    }

    fn memory(&mut self, n_pages: u64, at: usize, findings: &mut AdmissionFindings) {
        self.n_memories += 1;
        self.remembers = true;
        findings.limit(AdmissionCheck::Memory, at, "memories", self.n_memories as u64, 1);
        if let Origin::Untrusted(grant) = self.origin {
            findings.limit(
                AdmissionCheck::Memory,
                at,
                "pages of memory",
                n_pages,
                grant.memory_bytes / PAGE_BYTES,
            );
        }
    }

    fn export(&mut self, export: &Export<'_>, at: usize, findings: &mut AdmissionFindings) {
        let index = export.index as usize;
        let is_good = match (export.kind, export.name) {
            (ExternalKind::Func, EVALUATE_EXPORT) => {
                let is_typed = self.type_of(index).is_some_and(|function| {
                    function.params().is_empty() && function.results() == [ValType::I64]
                });
                self.exports_evaluate |= is_typed;
                is_typed
            }
            (ExternalKind::Memory, MEMORY_EXPORT) => {
                self.exports_memory = true;
                true
            }
            // Linkers export immutable globals, which are harmless.
            (ExternalKind::Global, _) => {
                self.origin != Origin::Compiler && self.mutable_globals.get(index) == Some(&false)
            }
            _ => false,
        };
        if !is_good {
            let name = export.name;
            findings.add(AdmissionCheck::Exports, Some(at), || {
                format!(
                    "`{name}` cannot be exported: a rule module exports `{EVALUATE_EXPORT}: () -> i64` and, if it \
                     has one, its memory as `{MEMORY_EXPORT}`"
                )
            });
        }
    }

    fn type_of(&self, function: usize) -> Option<&FuncType> {
        self.types.get(*self.functions.get(function)? as usize)?.as_ref()
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
