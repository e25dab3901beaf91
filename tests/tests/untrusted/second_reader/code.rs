//! Checks the body of one function, instruction by instruction.

use super::Violation;
use super::cursor::{Cursor, Stop};
use super::limits::{BLOCK_DEPTH_MAX, BLOCKS_MAX, BODY_BYTES_MAX, LOCALS_MAX};
use super::module::Module;

/// The context of one body, and its counts.
pub(super) struct Body<'m> {
    module: &'m Module,
    n_locals: u64,
    n_blocks: usize,
    /// Whether each open block is an `if` that may still have an `else`; the function itself comes first.
    open: Vec<bool>,
    deepest: usize,
    n_targets: usize,
}

impl<'m> Body<'m> {
    /// Reads one body. Returns the number of targets in its branch tables.
    pub(super) fn check(
        module: &'m Module,
        n_params: usize,
        bytes: &[u8],
        found: &mut Vec<Violation>,
    ) -> Result<usize, Stop> {
        let mut over = |check, what| found.push(Violation { check, what });
        if bytes.len() > BODY_BYTES_MAX {
            over("body", format!("a body of {} bytes", bytes.len()));
        }
        let mut body = Self {
            module,
            n_locals: n_params as u64,
            n_blocks: 0,
            open: vec![false],
            deepest: 0,
            n_targets: 0,
        };
        let mut cursor = Cursor::new(bytes);
        for _ in 0..cursor.number()? {
            body.n_locals += u64::from(cursor.number()?);
            value_type(cursor.byte()?)?;
        }
        if body.n_locals > LOCALS_MAX {
            over("locals", format!("{} locals", body.n_locals));
        }
        while !body.open.is_empty() {
            let code = cursor.byte()?;
            if let Some(what) = body.instruction(code, &mut cursor)? {
                over("blocks", what);
            }
        }
        if !cursor.is_at_end() {
            return Err("bytes behind the end of a body".to_owned());
        }
        if body.n_blocks > BLOCKS_MAX {
            over("blocks", format!("{} blocks", body.n_blocks));
        }
        if body.deepest > BLOCK_DEPTH_MAX {
            over("blocks", format!("blocks nested {} deep", body.deepest));
        }
        Ok(body.n_targets)
    }

    /// Reads one instruction. Returns a problem with the type of a block, if any.
    fn instruction(&mut self, code: u8, cursor: &mut Cursor<'_>) -> Result<Option<String>, Stop> {
        match code {
            0x00 | 0x01 | 0x0f | 0x1a | 0x1b | 0x45..=0xc4 => {}
            0x02..=0x04 => return self.block(code == 0x04, cursor),
            0x05 => match self.open.last_mut() {
                Some(may_have_else @ true) => *may_have_else = false,
                _ => return Err("an `else` without an `if`".to_owned()),
            },
            0x0b => {
                self.open.pop();
            }
            0x0c | 0x0d => self.label(cursor)?,
            0x0e => {
                let n_targets = cursor.index()?;
                for _ in 0..=n_targets {
                    self.label(cursor)?;
                }
                // The default target counts as well.
                self.n_targets += n_targets + 1;
            }
            0x10 => below(cursor.index()?, self.module.functions.len(), "function")?,
            0x11 => {
                below(cursor.index()?, self.module.types.len(), "type")?;
                below(usize::from(cursor.byte()?), self.module.n_tables, "table")?;
            }
            0x20..=0x22 if u64::from(cursor.number()?) >= self.n_locals => {
                return Err("a local that is not there".to_owned());
            }
            0x20..=0x22 => {}
            0x23 | 0x24 => below(cursor.index()?, self.module.globals.len(), "global")?,
            0x28..=0x3e => self.memory_access(cursor)?,
            0x3f | 0x40 => below(usize::from(cursor.byte()?), self.module.n_memories, "memory")?,
            0x41..=0x44 => cursor.literal(code)?,
            0xfc => self.prefixed(cursor)?,
            _ => return Err(format!("the instruction {code:#04x}")),
        }
        Ok(None)
    }

    /// Reads a prefixed instruction: only saturating conversions and bulk memory are allowed.
    fn prefixed(&self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        let memory =
            |cursor: &mut Cursor<'_>| below(usize::from(cursor.byte()?), self.module.n_memories, "memory");
        match cursor.number()? {
            0..=7 => Ok(()),
            8 => {
                below(cursor.index()?, self.module.data_count.unwrap_or(0), "segment of data")?;
                memory(cursor)
            }
            9 => below(cursor.index()?, self.module.data_count.unwrap_or(0), "segment of data"),
            10 => memory(cursor).and_then(|()| memory(cursor)),
            11 => memory(cursor),
            12 => {
                below(cursor.index()?, self.module.n_elements, "segment of elements")?;
                below(cursor.index()?, self.module.n_tables, "table")
            }
            13 => below(cursor.index()?, self.module.n_elements, "segment of elements"),
            14 => {
                below(cursor.index()?, self.module.n_tables, "table")?;
                below(cursor.index()?, self.module.n_tables, "table")
            }
            code => Err(format!("the instruction 0xfc {code}")),
        }
    }

    fn block(&mut self, is_if: bool, cursor: &mut Cursor<'_>) -> Result<Option<String>, Stop> {
        self.n_blocks += 1;
        self.open.push(is_if);
        self.deepest = self.deepest.max(self.open.len() - 1);
        let index = match cursor.signed(33)? {
            // No result, or one value.
            -64 | -4..=-1 => return Ok(None),
            index => usize::try_from(index).map_err(|_| format!("the block type {index}"))?,
        };
        let (params, results) = self.module.types.get(index).ok_or("a type that is not there")?;
        let is_plain = params.is_empty() && results.len() <= 1;
        Ok((!is_plain).then(|| "a block with parameters, or with more than one result".to_owned()))
    }

    fn label(&self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        below(cursor.index()?, self.open.len(), "label")
    }

    fn memory_access(&self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        if cursor.number()? > 3 {
            return Err("an alignment of more than eight bytes".to_owned());
        }
        cursor.number()?;
        below(0, self.module.n_memories, "memory")
    }
}

/// Checks for one of the four number types.
pub(super) fn value_type(byte: u8) -> Result<u8, Stop> {
    if matches!(byte, 0x7c..=0x7f) { Ok(byte) } else { Err(format!("the value type {byte:#04x}")) }
}

pub(super) fn below(index: usize, length: usize, what: &str) -> Result<(), Stop> {
    if index < length { Ok(()) } else { Err(format!("{what} {index} of {length}")) }
}
