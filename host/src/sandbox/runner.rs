//! Instances that wait for the next transaction.

use tollgate_guest_abi::EVALUATE_EXPORT;
use tollgate_guest_abi::limits::FUEL_PER_RUN;
use wasmtime::{Linker, Store, StoreLimits, StoreLimitsBuilder, TypedFunc};

use crate::assessment::RuleFailure;
use crate::sandbox::link::{self, HostCalls};
use crate::sandbox::{AdmittedModule, Sandbox, SandboxError, failure};

/// How many epochs, of a millisecond each, one run may last. Fuel decides, and deterministically; this is for what fuel
/// does not measure, and long enough that a busy machine does not change a verdict.
const EPOCHS_PER_RUN: u64 = 500;

/// Warm instances of some modules, on one thread.
///
/// Instances are reused because no admitted module can remember anything: it has no memory, no table and no global.
pub struct Runner<H: HostCalls> {
    store: Store<Guests<H>>,
    entries: Vec<TypedFunc<(), i64>>,
}

/// What host functions reach through the store.
pub(super) struct Guests<H> {
    pub(super) host: H,
    limits: StoreLimits,
}

impl<H: HostCalls> Runner<H> {
    /// Instantiates each module once; [`Runner::run`] names them by their place here.
    ///
    /// # Errors
    /// When the engine cannot hold them.
    pub fn new<'a>(
        sandbox: &Sandbox,
        host: H,
        modules: impl ExactSizeIterator<Item = &'a AdmittedModule>,
    ) -> Result<Self, SandboxError> {
        let refused = |error: wasmtime::Error| SandboxError(format!("{error:#}"));
        let limits = StoreLimitsBuilder::new()
            .instances(modules.len())
            .memories(0)
            .tables(0)
            .memory_size(0)
            .trap_on_grow_failure(true)
            .build();
        let mut store = Store::new(&sandbox.engine, Guests { host, limits });
        store.limiter(|guests| &mut guests.limits);
        let mut linker = Linker::new(&sandbox.engine);
        link::define_all(&mut linker).map_err(refused)?;
        let mut entries = Vec::with_capacity(modules.len());
        for admitted in modules {
            // Instantiation runs no code of the guest, admission saw to that, yet it is metered all the same.
            store.set_fuel(FUEL_PER_RUN).map_err(refused)?;
            store.set_epoch_deadline(EPOCHS_PER_RUN);
            let instance = linker.instantiate(&mut store, &admitted.module).map_err(refused)?;
            entries.push(instance.get_typed_func(&mut store, EVALUATE_EXPORT).map_err(refused)?);
        }
        Ok(Self { store, entries })
    }

    /// What the guests ask their questions to.
    pub fn host(&mut self) -> &mut H {
        &mut self.store.data_mut().host
    }

    /// Runs one module: bit `n` of the answer says whether rule `n` of its manifest matched.
    ///
    /// # Errors
    /// How it died. The other modules are none the worse for it.
    pub fn run(&mut self, module: usize) -> Result<u64, RuleFailure> {
        let entry = self.entries.get(module).ok_or(RuleFailure::Internal)?;
        self.store.set_fuel(FUEL_PER_RUN).map_err(|_| RuleFailure::Internal)?;
        self.store.set_epoch_deadline(EPOCHS_PER_RUN);
        entry.call(&mut self.store, ()).map(i64::cast_unsigned).map_err(|error| failure::classify(&error))
    }
}

impl<H: HostCalls> std::fmt::Debug for Runner<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("modules", &self.entries.len()).finish_non_exhaustive()
    }
}
