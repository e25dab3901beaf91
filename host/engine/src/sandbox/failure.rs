//! What wasmtime says of a guest that died, in our words.

use wasmtime::Trap;

use tollgate_model::assessment::RuleFailure;

/// Every way to die is a failure of the one rule.
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
