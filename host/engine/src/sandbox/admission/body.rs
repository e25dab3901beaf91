//! Limits on function bodies, which bound the cost of compiling them.

use tollgate_guest_abi::limits::{
    BLOCK_DEPTH_MAX, BLOCKS_MAX, BODY_BYTES_MAX, BRANCH_TARGETS_MAX, LOCALS_MAX,
};
use wasmparser::{BinaryReaderError, BlockType, FuncType, FunctionBody, Operator};

use super::finding::{AdmissionCheck, AdmissionFindings};

/// Totals of the bodies read so far.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    pub(super) n_read: usize,
    /// Targets of all `br_table` instructions in the module.
    n_branch_targets: u64,
}

/// Blocks of one body.
#[derive(Debug, Default)]
struct Blocks {
    n: usize,
    depth: usize,
    deepest: usize,
    /// Offset of the first block with parameters or more than one result.
    odd: Option<usize>,
}

impl Bodies {
    /// Reads the next body, whose function has `n_params` parameters.
    pub(super) fn read(
        &mut self,
        body: &FunctionBody<'_>,
        n_params: usize,
        types: &[Option<FuncType>],
        findings: &mut AdmissionFindings,
    ) -> Result<(), BinaryReaderError> {
        self.n_read += 1;
        let range = body.range();
        let n_bytes = range.end.saturating_sub(range.start);
        findings.limit(
            AdmissionCheck::Body,
            range.start,
            "bytes of a function body",
            n_bytes as u64,
            BODY_BYTES_MAX as u64,
        );
        let mut n_locals = n_params as u64;
        for group in body.get_locals_reader()? {
            n_locals = n_locals.saturating_add(u64::from(group?.0));
        }
        findings.limit(
            AdmissionCheck::Locals,
            range.start,
            "locals of a function, parameters included",
            n_locals,
            LOCALS_MAX.into(),
        );
        let mut blocks = Blocks::default();
        for step in body.get_operators_reader()?.into_iter_with_offsets() {
            let (operator, at) = step?;
            match operator {
                Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => {
                    blocks.enter(blockty, at, types);
                }
                Operator::End => blocks.depth = blocks.depth.saturating_sub(1),
                Operator::BrTable { targets } => {
                    self.n_branch_targets += u64::from(targets.len()) + 1;
                    let (n, n_max) = (self.n_branch_targets, BRANCH_TARGETS_MAX as u64);
                    findings.limit(
                        AdmissionCheck::Branches,
                        at,
                        "targets of `br_table` in a module",
                        n,
                        n_max,
                    );
                }
                _ => {}
            }
        }
        blocks.judge(range.start, findings);
        Ok(())
    }
}

impl Blocks {
    fn enter(&mut self, block: BlockType, at: usize, types: &[Option<FuncType>]) {
        self.n += 1;
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let is_plain = match block {
            BlockType::Empty | BlockType::Type(_) => true,
            BlockType::FuncType(index) => types
                .get(index as usize)
                .and_then(Option::as_ref)
                .is_some_and(|function| function.params().is_empty() && function.results().len() <= 1),
        };
        if !is_plain {
            self.odd.get_or_insert(at);
        }
    }

    fn judge(&self, at: usize, findings: &mut AdmissionFindings) {
        findings.limit(AdmissionCheck::Blocks, at, "blocks of a function", self.n as u64, BLOCKS_MAX as u64);
        let (deepest, depth_max) = (self.deepest as u64, BLOCK_DEPTH_MAX as u64);
        findings.limit(AdmissionCheck::Blocks, at, "nested blocks", deepest, depth_max);
        if let Some(at) = self.odd {
            findings.add(AdmissionCheck::Blocks, Some(at), || {
                "a block must have no parameters and at most one result".to_owned()
            });
        }
    }
}
