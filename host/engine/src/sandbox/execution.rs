//! How rules are run.

/// How rules are run. What they say is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Execution {
    /// As machine code.
    #[default]
    Compiled,
    /// By an interpreter, which needs no memory that can be executed.
    Interpreted,
}
