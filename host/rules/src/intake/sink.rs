//! Receiver of changes made over the API.

use std::fmt;

use tollgate_model::instruction::InstructionRecord;
use tollgate_store::ListRecord;

/// Receives every change over the API once it is durable and in force, one at a time and in order. Implementations must
/// not block or call the intake: they record the change and do the work elsewhere.
pub trait ScriptSink: fmt::Debug + Send + Sync {
    /// An instruction was saved.
    fn saved(&self, instruction: &InstructionRecord);

    /// An instruction was removed; it may have come from a file.
    fn removed(&self, instruction: &InstructionRecord);

    /// A list was set.
    fn list_saved(&self, list: &ListRecord);

    /// A list was removed.
    fn list_removed(&self, name: &str);
}
