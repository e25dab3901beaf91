//! Execution modes of rules.

/// The execution mode of rules. It does not affect their answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Execution {
    /// Machine code.
    #[default]
    Compiled,
    /// An interpreter, which needs no executable memory.
    Interpreted,
}
