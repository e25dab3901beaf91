//! The setting that determines how rules are executed.

use tollgate_engine::sandbox::Execution;

use super::reader::{ConfigError, SettingsReader, Variable, variable};

pub(super) const EXECUTION: Variable = variable("SERVICE_EXECUTION", "`compiled` or `interpreted`", "compiled", "How rules run: as machine code (`compiled`), or `interpreted`, which takes five times as long and needs no executable memory.").explained_in("operations.md#rules-that-are-interpreted");

pub(super) fn read<E>(read: &SettingsReader<E>) -> Result<Execution, ConfigError>
where
    E: Fn(&'static str) -> Result<Option<String>, ConfigError>,
{
    match read.text(EXECUTION)?.as_deref() {
        None | Some("compiled") => Ok(Execution::Compiled),
        Some("interpreted") => Ok(Execution::Interpreted),
        Some(other) => Err(EXECUTION.refuse(other)),
    }
}
