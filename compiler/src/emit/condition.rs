//! Emits conditions; each leaves 0 or 1 on the stack.

use tollgate_guest_abi::imports::{Call, test};
use tollgate_guest_abi::{Condition, Operand};
use wasm_encoder::Instruction;

use crate::emit::body::{BodyBuilder, Unsupported};

impl BodyBuilder {
    pub(super) fn condition(&mut self, condition: &Condition) -> Result<(), Unsupported> {
        match condition {
            Condition::All(parts) => self.chain(parts, Connective::All),
            Condition::Any(parts) => self.chain(parts, Connective::Any),
            Condition::Not(inner) => {
                self.condition(inner)?;
                self.push(Instruction::I32Eqz);
                Ok(())
            }
            Condition::Compare { left, operator, right } => self.compare(left, *operator, right),
            Condition::In { value, list, negated } => self.membership(value, list, *negated),
            Condition::Matches { value, pattern, negated } => self.pattern(value, pattern, *negated),
            Condition::Previous(spec) => {
                let slot = self.slots.previous(spec);
                self.ask(Call::Previous, slot);
                Ok(())
            }
        }
    }

    /// Emits one block for the whole chain. The short-circuit result is pushed first, and a part that decides the chain
    /// leaves the block with it. Otherwise the last part is the result:
    ///
    /// ```text
    ///  block (result i32)
    ///    i32.const 0
    ///    …first part…   i32.eqz   br_if 0
    ///    …second part…  i32.eqz   br_if 0
    ///    drop
    ///    …last part…
    ///  end
    /// ```
    fn chain(&mut self, parts: &[Condition], chain: Connective) -> Result<(), Unsupported> {
        let Some((last, before)) = parts.split_last() else {
            return Err(EMPTY_CHAIN);
        };
        if before.is_empty() {
            return self.condition(last);
        }
        self.block();
        self.integer(chain.decided());
        for part in before {
            self.condition(part)?;
            if matches!(chain, Connective::All) {
                self.push(Instruction::I32Eqz);
            }
            self.push(Instruction::BrIf(0));
        }
        self.push(Instruction::Drop);
        self.condition(last)?;
        self.push(Instruction::End);
        Ok(())
    }

    fn pattern(&mut self, value: &Operand, pattern: &str, negated: bool) -> Result<(), Unsupported> {
        let pattern = self.slots.pattern(pattern);
        match value {
            Operand::Field(path) => {
                let field = self.slots.field(path);
                self.ask_both(Call::Matches, field, pattern);
            }
            Operand::Text(_) | Operand::Boolean(_) => {
                return Err(Unsupported("a pattern search in a literal"));
            }
            number => self.ask_of_number(Call::MatchesNumber, number, pattern)?,
        }
        self.answers(negated);
        Ok(())
    }

    /// Converts the result of `member` or `matches` to 0 or 1.
    pub(super) fn answers(&mut self, negated: bool) {
        self.integer(if negated { test::NO } else { test::YES });
        self.push(Instruction::I32Eq);
    }
}

/// The error for an `and` or `or` without parts, which no script can produce.
pub(super) const EMPTY_CHAIN: Unsupported = Unsupported("an empty chain of conditions");

#[derive(Debug, Clone, Copy)]
pub(super) enum Connective {
    All,
    Any,
}

impl Connective {
    /// Returns the value of a chain that a part has decided.
    pub(super) const fn decided(self) -> i32 {
        match self {
            Connective::All => 0,
            Connective::Any => 1,
        }
    }
}
