//! The hardened profile: which WebAssembly there is, and what bounds it.

use wasmtime::{Config, OperatorCost, OptLevel, Strategy, WasmFeatures};

use crate::sandbox::Execution;

/// How much stack a guest may use. Threads that run guests have at least 2 MiB, so this is reached first.
const STACK_BYTES_MAX: usize = 256 * 1024;

/// What ordinary compilers emit, and nothing a rule could not do without: no SIMD, threads, 64-bit or second memories,
/// garbage collection, exceptions or tail calls.
pub(super) const FEATURES: WasmFeatures = WasmFeatures::FLOATS
    .union(WasmFeatures::MUTABLE_GLOBAL)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY);

/// The engine's name of its interpreter for this machine.
const INTERPRETER: &str = match (usize::BITS, cfg!(target_endian = "big")) {
    (64, false) => "pulley64",
    (64, true) => "pulley64be",
    (_, false) => "pulley32",
    (_, true) => "pulley32be",
};

/// The one profile of the one engine.
///
/// # Errors
/// When the engine has no interpreter, and is to interpret.
pub(super) fn hardened(execution: Execution) -> wasmtime::Result<Config> {
    let mut config = Config::new();
    if execution == Execution::Interpreted {
        config.target(INTERPRETER)?;
    }
    config.wasm_features(WasmFeatures::all().difference(FEATURES), false);
    config.wasm_features(FEATURES, true);
    config.strategy(Strategy::Cranelift);
    config.cranelift_opt_level(OptLevel::Speed);
    // The same module, transaction and history give the same bits on every machine.
    config.cranelift_nan_canonicalization(true);
    // Fuel decides, deterministically; the epoch is the safety net for what fuel does not measure.
    config.consume_fuel(true);
    config.operator_cost(costs());
    config.epoch_interruption(true);
    config.max_wasm_stack(STACK_BYTES_MAX);
    // A storm of traps must stay cheap, and an address tells an attacker more than us.
    config.wasm_backtrace_max_frames(None);
    config.native_unwind_info(false);
    config.generate_address_map(false);
    config.debug_info(false);
    Ok(config)
}

/// One unit for each instruction, and more for those that leave the module's code: growing takes as long as a hundred
/// others, bulk operations as long as twenty before their first byte.
const fn costs() -> OperatorCost {
    let mut costs = OperatorCost::new();
    costs.MemoryGrow = 100;
    costs.TableGrow = 100;
    costs.MemoryCopy = 20;
    costs.MemoryFill = 20;
    costs.MemoryInit = 20;
    costs.TableCopy = 20;
    costs.TableFill = 20;
    costs.TableInit = 20;
    costs.DataDrop = 20;
    costs.ElemDrop = 20;
    costs.variable.memory_grow_per_page = 100;
    costs
}
