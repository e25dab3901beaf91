//! Execution modes of rules.

/// The execution mode of rules. It does not affect their answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Execution {
    /// Machine code.
    #[default]
    Compiled,
    /// An interpreter, which needs no executable memory.
    Interpreted,
    /// Machine code that knows the functions and offsets of its failures, for tests of modules. The service does not use it:
    /// frequent failures must stay cheap.
    Diagnosed,
}
