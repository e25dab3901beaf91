//! The calls in the code of a module that cannot loop, so that each is made at most once.

use tollgate_guest_abi::imports::Call;
use wasmparser::{BinaryReaderError, FunctionBody, Operator};

/// Calls to the host in the code of a module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallSites {
    /// The sum of their prices, in fuel.
    pub fuel: u64,
    /// Calls that read texts of the transaction.
    pub n_reading: u32,
    /// Membership tests, which are among them.
    pub n_members: u32,
    /// Searches of patterns in fields.
    pub n_searches: u32,
    /// Searches of patterns in computed numbers.
    pub n_number_searches: u32,
}

impl CallSites {
    /// Counts the calls in a function. `imported` has the call of each imported function.
    pub(super) fn count(
        &mut self,
        body: &FunctionBody<'_>,
        imported: &[Option<Call>],
    ) -> Result<(), BinaryReaderError> {
        for operator in body.get_operators_reader()? {
            let Operator::Call { function_index } = operator? else { continue };
            let Some(call) = imported.get(function_index as usize).copied().flatten() else { continue };
            self.fuel += call.import().fuel;
            match call {
                Call::MatchesNumber => self.n_number_searches += 1,
                Call::Matches => {
                    self.n_searches += 1;
                    self.n_reading += 1;
                }
                // Each operand may be an aggregate.
                Call::RelateOperands => {
                    self.fuel += 2 * Call::Aggregate.import().fuel;
                    self.n_reading += 1;
                }
                Call::MemberOperand => {
                    self.fuel += Call::Aggregate.import().fuel;
                    self.n_reading += 1;
                    self.n_members += 1;
                }
                Call::Member | Call::MemberNumber | Call::MemberText => {
                    self.n_reading += 1;
                    self.n_members += 1;
                }
                Call::Aggregate | Call::ComparableAggregate | Call::Previous => {}
                _ => self.n_reading += 1,
            }
        }
        Ok(())
    }
}
