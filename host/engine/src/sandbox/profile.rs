//! The hardened profile: the enabled WebAssembly features, and the limits.

use std::num::NonZeroUsize;

use tollgate_guest_abi::limits::{MEMORY_PAGES_GRANTED_MAX, TABLE_ELEMENTS_MAX};
use tollgate_model::instruction::PAGE_BYTES;
use wasmtime::{Config, Engine, OperatorCost, OptLevel, PoolingAllocationConfig, Strategy, WasmFeatures};

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

/// Memories for evaluations beside the threads that judge: replays, trials, and the rules of a version that goes. A memory
/// takes addresses, but nothing else before it is used.
const SPARE_MEMORIES: usize = 64;

/// Returns an engine that runs modules on so many threads. Their memories are kept from run to run.
///
/// # Errors
/// When interpreted execution is requested and the engine has no interpreter.
pub(super) fn engine(execution: Execution, n_threads: NonZeroUsize) -> wasmtime::Result<Engine> {
    let mut pooled = hardened(execution)?;
    pooled.allocation_strategy(pool(n_threads));
    Engine::new(&pooled).or_else(|error| {
        // A process with a small address space has no room for the pool.
        tracing::warn!(error = %format!("{error:#}"), "the memories of modules cannot be kept from run to run");
        Engine::new(&hardened(execution)?)
    })
}

fn pool(n_threads: NonZeroUsize) -> PoolingAllocationConfig {
    let n_memories = u32::try_from(n_threads.get().saturating_add(SPARE_MEMORIES)).unwrap_or(u32::MAX);
    let memory_bytes = MEMORY_PAGES_GRANTED_MAX as usize * PAGE_BYTES as usize;
    let mut pool = PoolingAllocationConfig::new();
    // Modules without memory stay instantiated, one for each rule and thread.
    pool.total_core_instances(u32::MAX);
    pool.total_memories(n_memories).total_tables(n_memories);
    pool.max_memory_size(memory_bytes).table_elements(TABLE_ELEMENTS_MAX as usize);
    // As few memories as run at the same time are ever used, whichever modules they were of.
    pool.max_unused_warm_slots(0);
    // Clearing the memory of a module costs less than the faults of pages that were returned to the system.
    pool.linear_memory_keep_resident(memory_bytes);
    pool
}

/// Returns the configuration of an engine that compiles modules.
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
    // A memory that was mapped from a module's data could not be cleared for the next module.
    config.memory_init_cow(false);
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
