//! The hardened profile: the enabled WebAssembly features, and the limits.

use std::num::NonZeroUsize;

use wasmtime::{Config, OperatorCost, OptLevel, Strategy, WasmFeatures};

use crate::sandbox::Execution;

/// Stack limit of a guest. Threads that run guests have at least 2 MiB, so this limit is reached first.
const STACK_BYTES_MAX: usize = 256 * 1024;

/// Features that ordinary compilers use and rules need: no SIMD, threads, 64-bit or multiple memories, garbage
/// collection, exceptions or tail calls.
pub(super) const FEATURES: WasmFeatures = WasmFeatures::FLOATS
    .union(WasmFeatures::MUTABLE_GLOBAL)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY);

/// The wasmtime target of the interpreter on this machine.
const INTERPRETER: &str = match (usize::BITS, cfg!(target_endian = "big")) {
    (64, false) => "pulley64",
    (64, true) => "pulley64be",
    (_, false) => "pulley32",
    (_, true) => "pulley32be",
};

/// Returns the configuration of the engine.
///
/// # Errors
/// When interpreted execution is requested and the engine has no interpreter.
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
    // Fuel is the deterministic limit; the epoch is the fallback for costs that fuel does not measure.
    config.consume_fuel(true);
    config.operator_cost(costs());
    config.epoch_interruption(true);
    config.max_wasm_stack(STACK_BYTES_MAX);
    // Frequent traps must stay cheap, and addresses help attackers.
    let is_diagnosed = execution == Execution::Diagnosed;
    config.wasm_backtrace_max_frames(if is_diagnosed { NonZeroUsize::new(1) } else { None });
    config.native_unwind_info(false);
    config.generate_address_map(is_diagnosed);
    config.debug_info(false);
    Ok(config)
}

/// One unit per instruction, and more for instructions that leave the code of the module. Growing costs 100; a bulk
/// operation costs 20, besides its bytes.
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
