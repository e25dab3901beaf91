//! Instances that wait for the next transaction, and such that live for one.

use tollgate_guest_abi::EVALUATE_EXPORT;
use tollgate_model::assessment::{RuleFailure, RuleStatement};
use wasmtime::{Engine, InstancePre, Linker, Module, Store, TypedFunc};

use crate::sandbox::guest_state::{GuestState, StoreLimits};
use crate::sandbox::link::{self, HostCalls};
use tollgate_model::instruction::Grant;

use crate::sandbox::{AdmittedModule, MEMORY_EXPORT, Sandbox, SandboxError, failure};

/// How many epochs, of a millisecond each, one run may last. Fuel decides, and deterministically; this is for what fuel
/// does not measure, and long enough that a busy machine does not change a verdict.
const EPOCHS_PER_RUN: u64 = 500;

/// Instances of some modules, on one thread.
///
/// The instance of a module that cannot remember anything, having no memory, no table and no global that changes, is
/// called again and again. Every other module gets a new one, in a store of its own, for each run.
pub struct Runner<H: HostCalls> {
    engine: Engine,
    linker: Linker<GuestState<H>>,
    warm: Store<GuestState<H>>,
    /// `None` until the module is run: a rule that others answer for may never be.
    seats: Vec<Option<Box<InstanceSlot<H>>>>,
}

/// One module.
struct InstanceSlot<H: 'static> {
    entry: ModuleEntry<H>,
    terms: RunLimits,
}

/// What holds for every run of a module.
#[derive(Clone, Copy)]
struct RunLimits {
    n_rules: usize,
    fuel: u64,
    /// `None` for what the compiler made: it cannot loop, and its calls are counted where it is compiled.
    grant: Option<Grant>,
}

enum ModuleEntry<H: 'static> {
    Warm(TypedFunc<(), i64>),
    Fresh(InstancePre<GuestState<H>>),
    /// There is none: each try would take up room that others have.
    Broken(RuleFailure),
}

/// What a module answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleAnswer {
    /// Bit `n` says whether rule `n` of its manifest matched.
    pub bits: u64,
    /// What it has to say of the match beyond that.
    pub said: RuleStatement,
}

impl<H: HostCalls> Runner<H> {
    /// For so many modules. None is looked at before it is run: whoever changes from one set of a thousand rules to the next
    /// runs a few of them.
    ///
    /// # Errors
    /// When the engine cannot link what the host offers.
    pub fn new(sandbox: &Sandbox, host: H, n_modules: usize) -> Result<Self, SandboxError> {
        let engine = sandbox.engine.clone();
        let mut warm = store(&engine, StoreLimits { n_instances: n_modules, memory_bytes: 0 });
        warm.data_mut().host = Some(host);
        let mut linker = Linker::new(&engine);
        link::define_all(&mut linker).map_err(|error| SandboxError::Engine(format!("{error:#}")))?;
        let seats = std::iter::repeat_with(|| None).take(n_modules).collect();
        Ok(Self { engine, linker, warm, seats })
    }

    /// What the guests ask their questions to.
    ///
    /// # Errors
    /// When a run ended in a panic: the runner is of no use any more.
    pub fn host(&mut self) -> Result<&mut H, SandboxError> {
        let lost = |_| SandboxError::Engine("the host was lost in a panic".to_owned());
        self.warm.data_mut().host().map_err(lost)
    }

    /// Runs one module, which has a place among all of them, always the same.
    ///
    /// # Errors
    /// How it died. The other modules are none the worse for it.
    pub fn run(&mut self, place: usize, module: &AdmittedModule) -> Result<ModuleAnswer, RuleFailure> {
        let Self { linker, warm, seats, .. } = self;
        let seat = seats.get_mut(place).ok_or(RuleFailure::Internal)?;
        let seat = seat.get_or_insert_with(|| Box::new(InstanceSlot::take(module, linker, warm)));
        let terms = seat.terms;
        let failed = |error: wasmtime::Error| failure::classify(&error);
        let ran = match &seat.entry {
            ModuleEntry::Broken(failure) => return Err(*failure),
            ModuleEntry::Warm(entry) => call(&mut self.warm, terms, entry),
            ModuleEntry::Fresh(instance) => {
                let memory_bytes = terms.grant.map_or(0, |grant| grant.memory_bytes);
                let mut fresh = store(&self.engine, StoreLimits { n_instances: 1, memory_bytes });
                fresh.data_mut().host = self.warm.data_mut().host.take();
                let ran = call_fresh(&mut fresh, terms, instance);
                self.warm.data_mut().host = fresh.data_mut().host.take();
                ran
            }
        };
        let answer = ran.map_err(failed)?;
        let is_known = |bits: u64| terms.n_rules >= 64 || bits >> terms.n_rules == 0;
        if is_known(answer.bits) { Ok(answer) } else { Err(RuleFailure::InvalidOutput) }
    }
}

impl<H: HostCalls> InstanceSlot<H> {
    fn take(
        admitted: &AdmittedModule,
        linker: &Linker<GuestState<H>>,
        warm: &mut Store<GuestState<H>>,
    ) -> Self {
        let (n_rules, grant) = (admitted.manifest.rules.len(), admitted.origin().grant());
        let terms = RunLimits { n_rules, fuel: admitted.fuel, grant };
        let opened = if admitted.remembers {
            open_fresh(&admitted.module, linker)
        } else {
            open_warm(&admitted.module, terms, linker, warm)
        };
        Self { entry: opened.unwrap_or_else(|error| ModuleEntry::Broken(failure::classify(&error))), terms }
    }
}

fn open_fresh<H: HostCalls>(
    module: &Module,
    linker: &Linker<GuestState<H>>,
) -> wasmtime::Result<ModuleEntry<H>> {
    Ok(ModuleEntry::Fresh(linker.instantiate_pre(module)?))
}

fn open_warm<H: HostCalls>(
    module: &Module,
    terms: RunLimits,
    linker: &Linker<GuestState<H>>,
    warm: &mut Store<GuestState<H>>,
) -> wasmtime::Result<ModuleEntry<H>> {
    // Instantiation runs no code of the guest, admission saw to that, yet it is metered all the same.
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
    instance: &InstancePre<GuestState<H>>,
) -> wasmtime::Result<ModuleAnswer> {
    meter(store, terms.fuel)?;
    let instance = instance.instantiate(&mut *store)?;
    let memory = instance.get_memory(&mut *store, MEMORY_EXPORT);
    store.data_mut().memory = memory;
    let entry = instance.get_typed_func(&mut *store, EVALUATE_EXPORT)?;
    call(store, terms, &entry)
}

fn call<H: HostCalls>(
    store: &mut Store<GuestState<H>>,
    terms: RunLimits,
    entry: &TypedFunc<(), i64>,
) -> wasmtime::Result<ModuleAnswer> {
    meter(store, terms.fuel)?;
    let guests = store.data_mut();
    guests.calls_left = terms.grant.map(|grant| grant.host_calls);
    guests.n_rules = terms.n_rules;
    // What one left that died is not for the next.
    guests.said = RuleStatement::default();
    let bits = entry.call(&mut *store, ())?.cast_unsigned();
    Ok(ModuleAnswer { bits, said: std::mem::take(&mut store.data_mut().said) })
}

impl<H: HostCalls> std::fmt::Debug for Runner<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("modules", &self.seats.len()).finish_non_exhaustive()
    }
}
