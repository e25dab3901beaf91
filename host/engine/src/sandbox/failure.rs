//! Maps wasmtime errors to rule failures.

use wasmtime::Trap;

use tollgate_model::assessment::RuleFailure;

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
