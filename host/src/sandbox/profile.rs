//! The hardened profile: which WebAssembly there is, and what bounds it.

use wasmtime::{Config, OptLevel, Strategy, WasmFeatures};

/// How much stack a guest may use. Threads that run guests have at least 2 MiB, so this is reached first.
const STACK_BYTES_MAX: usize = 256 * 1024;

/// What ordinary compilers emit, and nothing a rule could not do without: no SIMD, threads, 64-bit or second memories,
/// garbage collection, exceptions or tail calls.
const FEATURES: WasmFeatures = WasmFeatures::FLOATS
    .union(WasmFeatures::MUTABLE_GLOBAL)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY);

/// The one profile of the one engine.
pub(super) fn hardened() -> Config {
    let mut config = Config::new();
    config.wasm_features(WasmFeatures::all().difference(FEATURES), false);
    config.wasm_features(FEATURES, true);
    config.strategy(Strategy::Cranelift);
    config.cranelift_opt_level(OptLevel::Speed);
    // The same module, transaction and history give the same bits on every machine.
    config.cranelift_nan_canonicalization(true);
    // Fuel decides, deterministically; the epoch is the safety net for what fuel does not measure.
    config.consume_fuel(true);
    config.epoch_interruption(true);
    config.max_wasm_stack(STACK_BYTES_MAX);
    // A storm of traps must stay cheap, and an address tells an attacker more than us.
    config.wasm_backtrace_max_frames(None);
    config.native_unwind_info(false);
    config.generate_address_map(false);
    config.debug_info(false);
    config
}
