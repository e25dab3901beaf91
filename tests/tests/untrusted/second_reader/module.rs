//! Reads the sections of a module, in order and at most once each.

use super::code::{Body, below, value_type};
use super::cursor::{Cursor, Stop};
use super::{Violation, limits, manifest};

const I32: u8 = 0x7f;
const I64: u8 = 0x7e;
const F64: u8 = 0x7c;

/// The host functions, repeated here: name, parameters, results.
const HOST: [(&str, &[u8], &[u8]); 20] = [
    ("number", &[I32], &[F64]),
    ("symbol", &[I32], &[I32]),
    ("kind", &[I32], &[I32]),
    ("relate", &[I32, I32], &[I32]),
    ("relate_text", &[I32, I32], &[I32]),
    ("member", &[I32, I32], &[I32]),
    ("member_number", &[F64, I32], &[I32]),
    ("member_text", &[I32, I32], &[I32]),
    ("matches", &[I32, I32], &[I32]),
    ("matches_number", &[F64, I32], &[I32]),
    ("aggregate", &[I32], &[F64]),
    ("previous", &[I32], &[I32]),
    ("time_part", &[I32], &[F64]),
    ("text", &[I32, I32, I32], &[I32]),
    ("set_score", &[I32, F64], &[]),
    ("set_reason", &[I32, I32, I32], &[]),
    ("comparable", &[I32], &[F64]),
    ("comparable_aggregate", &[I32], &[F64]),
    ("relate_operands", &[I32, I32], &[I32]),
    ("member_operand", &[I32, I32], &[I32]),
];

/// The contents read from a module.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Parameters and results of each type.
    pub(super) types: Vec<(Vec<u8>, Vec<u8>)>,
    /// Type of each function, imported ones first.
    pub(super) functions: Vec<usize>,
    n_imported: usize,
    pub(super) n_tables: usize,
    pub(super) n_memories: usize,
    /// Whether each global is mutable.
    pub(super) globals: Vec<bool>,
    pub(super) n_elements: usize,
    /// The announced number of data segments.
    pub(super) data_count: Option<usize>,
    n_data: usize,
    n_bodies: usize,
    exports_evaluate: bool,
    exports_memory: bool,
    n_manifests: usize,
    was_read: bool,
}

impl Module {
    /// Reads every section. The error describes where reading had to stop.
    pub(super) fn read(&mut self, bytes: &[u8], found: &mut Vec<Violation>) -> Result<(), Stop> {
        let mut cursor = Cursor::new(bytes);
        if cursor.take(8)? != b"\0asm\x01\0\0\0" {
            return Err("no module of version 1".to_owned());
        }
        let mut last = 0;
        while !cursor.is_at_end() {
            let id = cursor.byte()?;
            let length = cursor.index()?;
            let mut section = Cursor::new(cursor.take(length)?);
            if id == 0 {
                self.custom(&mut section, found)?;
                continue;
            }
            let order = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11].iter().position(|known| *known == id);
            let order = order.ok_or_else(|| format!("a section {id}"))? + 1;
            if order <= last {
                return Err(format!("a section {id} at a wrong place, or again"));
            }
            last = order;
            self.section(id, &mut section, found)?;
            if !section.is_at_end() {
                return Err(format!("bytes behind the end of section {id}"));
            }
        }
        let n_own = self.functions.len() - self.n_imported;
        if self.n_bodies != n_own || self.data_count.is_some_and(|count| count != self.n_data) {
            return Err("fewer bodies or segments than announced, or more".to_owned());
        }
        self.was_read = true;
        Ok(())
    }

    /// Checks properties of the whole module.
    pub(super) fn judge(&self, found: &mut Vec<Violation>) {
        if !self.was_read {
            return;
        }
        let mut unless = |holds: bool, check, what: &str| {
            if !holds {
                found.push(Violation { check, what: what.to_owned() });
            }
        };
        let n_own = self.functions.len() - self.n_imported;
        unless(self.exports_evaluate, "exports", "no `evaluate: () -> i64`");
        unless(n_own <= limits::FUNCTIONS_MAX, "functions", "too many functions");
        unless(self.types.len() <= limits::TYPES_MAX, "types", "too many types");
        unless(self.globals.len() <= limits::GLOBALS_MAX, "globals", "too many globals");
        unless(self.n_memories <= 1, "memory", "more than one memory");
        unless(self.n_tables <= 1, "table", "more than one table");
        unless(self.n_elements <= limits::SEGMENTS_MAX, "elements", "too many segments of elements");
        unless(self.n_data <= limits::SEGMENTS_MAX, "data", "too many segments of data");
        unless(self.n_manifests == 1, "manifest", "not one manifest");
        unless(
            self.n_memories == 0 || self.exports_memory,
            "exports",
            "a memory that is not exported as `memory`",
        );
    }

    fn custom(&mut self, section: &mut Cursor<'_>, found: &mut Vec<Violation>) -> Result<(), Stop> {
        if section.name()? == "tollgate.manifest" {
            self.n_manifests += 1;
            let wrong = manifest::violations(section.rest());
            found.extend(wrong.into_iter().map(|what| Violation { check: "manifest", what }));
        }
        Ok(())
    }

    fn section(&mut self, id: u8, section: &mut Cursor<'_>, found: &mut Vec<Violation>) -> Result<(), Stop> {
        if id == 8 {
            found.push(Violation { check: "start", what: "a start function".to_owned() });
            return below(section.index()?, self.functions.len(), "function");
        }
        let count = section.index()?;
        let mut over = |check, what: &str| found.push(Violation { check, what: format!("{count} {what}") });
        match id {
            2 if count > limits::IMPORTS_MAX => over("imports", "imports"),
            7 if count > limits::EXPORTS_MAX => over("exports", "exports"),
            12 => self.data_count = Some(count),
            _ => {}
        }
        let n_items = if id == 12 { 0 } else { count };
        let mut n_targets = 0;
        for _ in 0..n_items {
            match id {
                1 => self.function_type(section, found)?,
                2 => self.import(section, found)?,
                3 => self.function(section)?,
                4 => self.table(section, found)?,
                5 => self.memory(section, found)?,
                6 => self.global(section)?,
                7 => self.export(section, found)?,
                9 => self.elements(section)?,
                10 => n_targets += self.body(section, found)?,
                _ => self.data(section)?,
            }
        }
        if n_targets > limits::BRANCH_TARGETS_MAX {
            found
                .push(Violation { check: "branches", what: format!("{n_targets} targets of branch tables") });
        }
        Ok(())
    }

    fn function_type(&mut self, section: &mut Cursor<'_>, found: &mut Vec<Violation>) -> Result<(), Stop> {
        if section.byte()? != 0x60 {
            return Err("a type that is none of a function".to_owned());
        }
        let params = value_types(section)?;
        let results = value_types(section)?;
        if params.len() > limits::PARAMS_MAX || results.len() > 1 {
            let what = format!("a function of {} parameters and {} results", params.len(), results.len());
            found.push(Violation { check: "types", what });
        }
        self.types.push((params, results));
        Ok(())
    }

    fn import(&mut self, section: &mut Cursor<'_>, found: &mut Vec<Violation>) -> Result<(), Stop> {
        let (module, name) = (section.name()?, section.name()?);
        let mut refused = || {
            let what = format!("{}.{}", module.escape_debug(), name.escape_debug());
            found.push(Violation { check: "imports", what });
        };
        match section.byte()? {
            0 => {
                let index = section.index()?;
                let function = self.types.get(index).ok_or("a type that is not there")?;
                let known = HOST.iter().any(|(known, params, results)| {
                    *known == name && *params == function.0 && *results == function.1
                });
                if module != "tollgate" || !known {
                    refused();
                }
                self.functions.push(index);
                self.n_imported += 1;
            }
            1 => {
                refused();
                self.table(section, &mut Vec::new())?;
            }
            2 => {
                refused();
                self.memory(section, &mut Vec::new())?;
            }
            3 => {
                refused();
                value_type(section.byte()?)?;
                self.globals.push(section.byte()? != 0);
            }
            kind => return Err(format!("an import of kind {kind}")),
        }
        Ok(())
    }

    fn function(&mut self, section: &mut Cursor<'_>) -> Result<(), Stop> {
        let index = section.index()?;
        below(index, self.types.len(), "type")?;
        self.functions.push(index);
        Ok(())
    }

    fn table(&mut self, section: &mut Cursor<'_>, found: &mut Vec<Violation>) -> Result<(), Stop> {
        if section.byte()? != 0x70 {
            return Err("a table of something else than functions".to_owned());
        }
        let least = limits_of(section)?;
        if least > limits::TABLE_ELEMENTS_MAX {
            found.push(Violation { check: "table", what: format!("{least} elements") });
        }
        self.n_tables += 1;
        Ok(())
    }

    fn memory(&mut self, section: &mut Cursor<'_>, found: &mut Vec<Violation>) -> Result<(), Stop> {
        let least = limits_of(section)?;
        if least > limits::MEMORY_PAGES_MAX {
            found.push(Violation { check: "memory", what: format!("{least} pages") });
        }
        self.n_memories += 1;
        Ok(())
    }

    fn global(&mut self, section: &mut Cursor<'_>) -> Result<(), Stop> {
        value_type(section.byte()?)?;
        let can_change = match section.byte()? {
            0 => false,
            1 => true,
            other => return Err(format!("a global of mutability {other}")),
        };
        constant(section)?;
        self.globals.push(can_change);
        Ok(())
    }

    fn export(&mut self, section: &mut Cursor<'_>, found: &mut Vec<Violation>) -> Result<(), Stop> {
        let name = section.name()?;
        let kind = section.byte()?;
        let index = section.index()?;
        let is_allowed = match kind {
            0 => {
                let function = *self.functions.get(index).ok_or("a function that is not there")?;
                let is_first = !std::mem::replace(&mut self.exports_evaluate, true);
                let has_type = self
                    .types
                    .get(function)
                    .is_some_and(|(params, results)| params.is_empty() && results.as_slice() == [I64]);
                name == "evaluate" && has_type && is_first
            }
            1 => false,
            2 => {
                below(index, self.n_memories, "memory")?;
                name == "memory" && !std::mem::replace(&mut self.exports_memory, true)
            }
            3 => !*self.globals.get(index).ok_or("a global that is not there")?,
            _ => return Err(format!("an export of kind {kind}")),
        };
        if !is_allowed {
            found.push(Violation { check: "exports", what: name.escape_debug().to_string() });
        }
        Ok(())
    }

    fn elements(&mut self, section: &mut Cursor<'_>) -> Result<(), Stop> {
        let flags = section.number()?;
        if flags > 3 {
            return Err(format!("elements of the form {flags}"));
        }
        if flags == 2 {
            below(section.index()?, self.n_tables, "table")?;
        }
        if flags & 1 == 0 {
            below(0, self.n_tables, "table")?;
            constant(section)?;
        }
        if flags != 0 && section.byte()? != 0 {
            return Err("elements that are no functions".to_owned());
        }
        for _ in 0..section.number()? {
            below(section.index()?, self.functions.len(), "function")?;
        }
        self.n_elements += 1;
        Ok(())
    }

    fn body(&mut self, section: &mut Cursor<'_>, found: &mut Vec<Violation>) -> Result<usize, Stop> {
        let length = section.index()?;
        let bytes = section.take(length)?;
        let function = *self.functions.get(self.n_imported + self.n_bodies).ok_or("a body of no function")?;
        self.n_bodies += 1;
        let n_params = self.types.get(function).map_or(0, |(params, _)| params.len());
        Body::check(self, n_params, bytes, found)
    }

    fn data(&mut self, section: &mut Cursor<'_>) -> Result<(), Stop> {
        let flags = section.number()?;
        if flags > 2 {
            return Err(format!("data of the form {flags}"));
        }
        if flags == 2 {
            below(section.index()?, self.n_memories, "memory")?;
        }
        if flags != 1 {
            below(0, self.n_memories, "memory")?;
            constant(section)?;
        }
        let length = section.index()?;
        section.take(length)?;
        self.n_data += 1;
        Ok(())
    }
}

fn value_types(section: &mut Cursor<'_>) -> Result<Vec<u8>, Stop> {
    (0..section.number()?).map(|_| value_type(section.byte()?)).collect()
}

/// Returns the minimum of a limit; the maximum must not be less.
fn limits_of(section: &mut Cursor<'_>) -> Result<u32, Stop> {
    match section.byte()? {
        0 => section.number(),
        1 => {
            let least = section.number()?;
            if section.number()? < least { Err("less at most than at least".to_owned()) } else { Ok(least) }
        }
        flags => Err(format!("limits of the form {flags}")),
    }
}

/// Reads one constant and the end of the expression.
fn constant(section: &mut Cursor<'_>) -> Result<(), Stop> {
    let code = section.byte()?;
    section.literal(code)?;
    if section.byte()? == 0x0b { Ok(()) } else { Err("a constant without its end".to_owned()) }
}
