//! How rules are run.

use super::reader::{ConfigError, Reader, Variable, variable};

/// How rules are run. What they say is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Execution {
    /// As machine code.
    #[default]
    Compiled,
    /// By an interpreter, which needs no memory that can be executed.
    Interpreted,
}

pub(super) const EXECUTION: Variable = variable(
    "SERVICE_EXECUTION",
    "`compiled` or `interpreted`",
    "compiled",
    "how rules run: as machine code, or interpreted, which takes five times as long and no memory that can be executed",
);

impl Execution {
    pub(super) fn read<E>(read: &Reader<E>) -> Result<Self, ConfigError>
    where
        E: Fn(&'static str) -> Result<Option<String>, ConfigError>,
    {
        match read.text(EXECUTION)?.as_deref() {
            None | Some("compiled") => Ok(Self::Compiled),
            Some("interpreted") => Ok(Self::Interpreted),
            Some(other) => Err(EXECUTION.refuse(other)),
        }
    }
}
