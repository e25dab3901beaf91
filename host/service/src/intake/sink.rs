//! Who wants to hear of what is saved and removed over the API.

use std::fmt;

use tollgate_model::instruction::InstructionRecord;
use tollgate_store::ListRecord;

/// Told of every change over the API after it is durable and in force, one at a time and in order. It must not block, and
/// it must not ask the intake: remember what was said, and do the work elsewhere.
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
