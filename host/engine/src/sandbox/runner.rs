//! Runs modules in warm instances, or in a fresh instance per run.

use tollgate_guest_abi::{EVALUATE_EXPORT, prices};
use tollgate_model::assessment::{RuleFailure, RuleStatement};
use wasmtime::{Engine, InstancePre, Linker, MemoryType, Module, Store, TypedFunc};

use crate::sandbox::guest_state::{CallCharges, GuestState, StoreLimits};
use crate::sandbox::link::{self, HostCalls};
use tollgate_model::instruction::Grant;

use crate::sandbox::{AdmittedModule, FailureDetail, MEMORY_EXPORT, Sandbox, SandboxError, failure};

/// Epochs, of one millisecond each, before a run is interrupted. Fuel is the deterministic limit; this fallback is long
/// enough that a busy machine does not change a verdict.
const EPOCHS_PER_RUN: u64 = 500;

/// Instances of modules, on one thread.
///
/// A module without memory, tables and mutable globals has no state, so its instance is reused. Any other module gets a
/// new instance in a separate store for each run.
pub struct Runner<H: HostCalls> {
    engine: Engine,
    linker: Linker<GuestState<H>>,
    warm: Store<GuestState<H>>,
    /// `None` until the module first runs; a fused rule may never run.
    seats: Vec<Option<Box<InstanceSlot<H>>>>,
    /// The detail of the last failure.
    failed: Option<FailureDetail>,
}

struct InstanceSlot<H: 'static> {
    entry: ModuleEntry<H>,
    terms: RunLimits,
}

/// Limits of every run of a module.
#[derive(Clone, Copy)]
struct RunLimits {
    n_rules: usize,
    fuel: u64,
    /// `None` for modules of the compiler: they cannot loop, and their calls were counted at compile time.
    grant: Option<Grant>,
    charges: CallCharges,
}

/// Limits of one run besides those of the module.
#[derive(Debug, Clone, Copy)]
pub struct RunTerms {
    /// The fuel that is left for it.
    pub fuel_max: u64,
    /// The calls it pays for.
    pub charges: CallCharges,
}

/// The fuel that some runs used, of those that paid for their calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunCost {
    /// The sum.
    pub fuel: u64,
}

impl RunCost {
    #[inline]
    fn add<H>(&mut self, store: &Store<GuestState<H>>, limits: RunLimits) {
        if limits.charges == CallCharges::Nothing {
            return;
        }
        // Never fails: fuel is enabled.
        self.fuel += used_fuel(store, limits);
    }
}

#[inline]
fn used_fuel<H>(store: &Store<GuestState<H>>, limits: RunLimits) -> u64 {
    limits.fuel.saturating_sub(store.get_fuel().unwrap_or(0))
}

enum ModuleEntry<H: 'static> {
    Warm(TypedFunc<(), i64>),
    Fresh {
        instance: InstancePre<GuestState<H>>,
        /// Size of its memory before it runs, in pages of 64 KiB.
        n_pages: u64,
    },
    /// Instantiation failed; another try would use up instances of the store.
    Broken(RuleFailure),
}

impl<H: HostCalls> Runner<H> {
    /// Creates a runner for this number of modules. Each is instantiated on first use, since many may never run.
    ///
    /// # Errors
    /// When the host functions cannot be linked.
    pub fn new(sandbox: &Sandbox, host: H, n_modules: usize) -> Result<Self, SandboxError> {
        let engine = sandbox.engine.clone();
        let mut warm = store(&engine, StoreLimits { n_instances: n_modules, memory_bytes: 0 });
        warm.data_mut().host = Some(host);
        let mut linker = Linker::new(&engine);
        link::define_all(&mut linker).map_err(|error| SandboxError::Engine(format!("{error:#}")))?;
        let seats = std::iter::repeat_with(|| None).take(n_modules).collect();
        Ok(Self { engine, linker, warm, seats, failed: None })
    }

    /// Returns the host that answers the calls of guests.
    ///
    /// # Errors
    /// When a run panicked; the runner is then unusable.
    pub fn host(&mut self) -> Result<&mut H, SandboxError> {
        let lost = |_| SandboxError::Engine("the runner is unusable after a panic".to_owned());
        self.warm.data_mut().host().map_err(lost)
    }

    /// Runs a module. `module_index` is its index, which must always be the same. Adds the fuel that it used to `cost`.
    /// Bit `n` of the answer is set if rule `n` of its manifest matched.
    ///
    /// # Errors
    /// The failure of the module. Other modules are not affected.
    pub fn run(
        &mut self,
        module_index: usize,
        module: &AdmittedModule,
        run: RunTerms,
        cost: &mut RunCost,
    ) -> Result<u64, RuleFailure> {
        let Self { linker, warm, seats, .. } = self;
        let seat = seats.get_mut(module_index).ok_or(RuleFailure::Internal)?;
        let seat = seat.get_or_insert_with(|| Box::new(InstanceSlot::take(module, linker, warm)));
        let terms = RunLimits { fuel: seat.terms.fuel.min(run.fuel_max), charges: run.charges, ..seat.terms };
        let ran = match &seat.entry {
            ModuleEntry::Broken(failure) => Err((*failure, FailureDetail::of_failure(*failure, 0))),
            ModuleEntry::Warm(entry) => {
                let ran = call(&mut self.warm, terms, entry);
                cost.add(&self.warm, terms);
                answer_of(ran, &self.warm, terms)
            }
            ModuleEntry::Fresh { instance, n_pages } => {
                let memory_bytes = terms.grant.map_or(0, |grant| grant.memory_bytes);
                let mut fresh = store(&self.engine, StoreLimits { n_instances: 1, memory_bytes });
                fresh.data_mut().host = self.warm.data_mut().host.take();
                let ran = call_fresh(&mut fresh, terms, (instance, *n_pages));
                cost.add(&fresh, terms);
                self.warm.data_mut().host = fresh.data_mut().host.take();
                self.warm.data_mut().said = std::mem::take(&mut fresh.data_mut().said);
                answer_of(ran, &fresh, terms)
            }
        };
        ran.map_err(|(failure, detail)| {
            self.failed = Some(detail);
            failure
        })
    }

    /// Returns where and why the last run failed, once.
    pub fn take_failure(&mut self) -> Option<FailureDetail> {
        self.failed.take()
    }

    /// Returns the score and the reason that the module set in the last run.
    pub fn take_statement(&mut self) -> RuleStatement {
        std::mem::take(&mut self.warm.data_mut().said)
    }
}

impl<H: HostCalls> InstanceSlot<H> {
    fn take(
        admitted: &AdmittedModule,
        linker: &Linker<GuestState<H>>,
        warm: &mut Store<GuestState<H>>,
    ) -> Self {
        let (n_rules, grant) = (admitted.manifest.rules.len(), admitted.origin().grant());
        let terms = RunLimits { n_rules, fuel: admitted.fuel, grant, charges: CallCharges::Nothing };
        let code = admitted.code.get().map_err(|refusal| wasmtime::Error::msg(refusal.to_string()));
        let opened = code.and_then(|code| {
            if admitted.remembers { open_fresh(code, linker) } else { open_warm(code, terms, linker, warm) }
        });
        Self { entry: opened.unwrap_or_else(|error| ModuleEntry::Broken(failure::classify(&error))), terms }
    }
}

/// Checks the answer of a run.
#[inline]
fn answer_of<H>(
    ran: wasmtime::Result<u64>,
    store: &Store<GuestState<H>>,
    terms: RunLimits,
) -> Result<u64, (RuleFailure, FailureDetail)> {
    match ran {
        Ok(bits) if terms.n_rules >= 64 || bits >> terms.n_rules == 0 => Ok(bits),
        Ok(_) => {
            let failure = RuleFailure::InvalidOutput;
            Err((failure, FailureDetail::of_failure(failure, used_fuel(store, terms))))
        }
        Err(error) => {
            Err((failure::classify(&error), FailureDetail::of_error(&error, used_fuel(store, terms))))
        }
    }
}

fn open_fresh<H: HostCalls>(
    module: &Module,
    linker: &Linker<GuestState<H>>,
) -> wasmtime::Result<ModuleEntry<H>> {
    let memory = module.get_export(MEMORY_EXPORT).and_then(|export| export.memory().map(MemoryType::minimum));
    Ok(ModuleEntry::Fresh { instance: linker.instantiate_pre(module)?, n_pages: memory.unwrap_or(0) })
}

fn open_warm<H: HostCalls>(
    module: &Module,
    terms: RunLimits,
    linker: &Linker<GuestState<H>>,
    warm: &mut Store<GuestState<H>>,
) -> wasmtime::Result<ModuleEntry<H>> {
    // Instantiation runs no guest code, as admission ensures, but is metered anyway.
    meter(warm, terms.fuel)?;
    let instance = linker.instantiate(&mut *warm, module)?;
    Ok(ModuleEntry::Warm(instance.get_typed_func(warm, EVALUATE_EXPORT)?))
}

fn store<H: HostCalls>(engine: &Engine, room: StoreLimits) -> Store<GuestState<H>> {
    let mut store = Store::new(engine, GuestState::new(room));
    store.limiter(|guests| &mut guests.room);
    store
}

fn meter<H>(store: &mut Store<GuestState<H>>, fuel: u64) -> wasmtime::Result<()> {
    store.set_epoch_deadline(EPOCHS_PER_RUN);
    store.set_fuel(fuel)
}

fn call_fresh<H: HostCalls>(
    store: &mut Store<GuestState<H>>,
    terms: RunLimits,
    (instance, n_pages): (&InstancePre<GuestState<H>>, u64),
) -> wasmtime::Result<u64> {
    meter(store, terms.fuel)?;
    let at_first = if terms.charges == CallCharges::SinceV5 { prices::instance(n_pages) } else { 0 };
    take(store, at_first)?;
    let instance = instance.instantiate(&mut *store)?;
    let memory = instance.get_memory(&mut *store, MEMORY_EXPORT);
    store.data_mut().memory = memory;
    let entry = instance.get_typed_func(&mut *store, EVALUATE_EXPORT)?;
    let left = terms.fuel.saturating_sub(at_first);
    let ran = call(store, RunLimits { fuel: left, ..terms }, &entry);
    if terms.charges != CallCharges::SinceV5 {
        return ran;
    }
    // The growth of the memory is known only after the run.
    let at_last = prices::instance(memory.map_or(0, |memory| memory.size(&*store)));
    take(store, at_last.saturating_sub(at_first)).and(ran)
}

/// Takes fuel for what a module did not do by itself.
fn take<H>(store: &mut Store<GuestState<H>>, fuel: u64) -> wasmtime::Result<()> {
    let left = store.get_fuel()?;
    store.set_fuel(left.saturating_sub(fuel))?;
    if fuel > left { Err(RuleFailure::Fuel.into()) } else { Ok(()) }
}

fn call<H: HostCalls>(
    store: &mut Store<GuestState<H>>,
    terms: RunLimits,
    entry: &TypedFunc<(), i64>,
) -> wasmtime::Result<u64> {
    meter(store, terms.fuel)?;
    let guests = store.data_mut();
    guests.calls_left = terms.grant.map(|grant| grant.host_calls);
    guests.charges = terms.charges;
    guests.n_rules = terms.n_rules;
    // Discard the output of a failed run.
    guests.said = RuleStatement::default();
    Ok(entry.call(&mut *store, ())?.cast_unsigned())
}

impl<H: HostCalls> std::fmt::Debug for Runner<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("modules", &self.seats.len()).finish_non_exhaustive()
    }
}
