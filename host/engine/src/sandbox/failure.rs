//! Maps wasmtime errors to rule failures, and describes them for the author of the module.

use wasmtime::{Trap, WasmBacktrace};

use tollgate_model::assessment::RuleFailure;

/// Maximum length of a message or function name, in characters.
const CHARACTERS_MAX: usize = 200;

/// Where and why a run of a module failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureDetail {
    /// The message of the trap, or of the host.
    pub message: String,
    /// Name of the function, or its index; only under [`Execution::Diagnosed`](crate::sandbox::Execution::Diagnosed).
    pub function: Option<String>,
    /// Offset of the instruction in the module, in bytes; only under the same execution mode.
    pub offset: Option<usize>,
    /// Fuel that the run used.
    pub fuel: u64,
}

impl FailureDetail {
    /// Creates the detail of a failure that is not an error of the engine.
    pub(super) fn of_failure(failure: RuleFailure, fuel: u64) -> Self {
        Self { message: failure.to_string(), function: None, offset: None, fuel }
    }

    pub(super) fn of_error(error: &wasmtime::Error, fuel: u64) -> Self {
        let message = match (error.downcast_ref::<RuleFailure>(), error.downcast_ref::<Trap>()) {
            (Some(failure), _) => failure.to_string(),
            (None, Some(trap)) => trap.to_string(),
            (None, None) => error.to_string(),
        };
        let frame = error.downcast_ref::<WasmBacktrace>().and_then(|trace| trace.frames().first());
        let function = frame.map(|frame| match frame.func_name() {
            Some(name) => shown(name),
            None => format!("function {}", frame.func_index()),
        });
        let offset = frame.and_then(wasmtime::FrameInfo::module_offset);
        Self { message: shown(&message), function, offset, fuel }
    }
}

/// Returns a text of a module in a form that is safe to show.
fn shown(text: &str) -> String {
    text.chars().take(CHARACTERS_MAX).flat_map(char::escape_debug).collect()
}

/// Classifies an error; every error is a failure of the one rule.
pub(super) fn classify(error: &wasmtime::Error) -> RuleFailure {
    if let Some(failure) = error.downcast_ref::<RuleFailure>() {
        return *failure;
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => RuleFailure::Fuel,
        Some(Trap::Interrupt) => RuleFailure::Timeout,
        Some(Trap::StackOverflow) => RuleFailure::Stack,
        Some(Trap::MemoryOutOfBounds | Trap::AllocationTooLarge) => RuleFailure::Memory,
        Some(_) => RuleFailure::Trap,
        None => RuleFailure::Internal,
    }
}
