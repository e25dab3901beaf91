//! Instances that wait for the next transaction, and such that live for one.

use tollgate_guest_abi::EVALUATE_EXPORT;
use tollgate_guest_abi::limits::FUEL_PER_RUN;
use wasmtime::{Engine, InstancePre, Linker, Store, TypedFunc};

use crate::assessment::{RuleFailure, Statement};
use crate::sandbox::guests::{Guests, Room};
use crate::sandbox::link::{self, HostCalls};
use crate::sandbox::{AdmittedModule, Grant, MEMORY_EXPORT, Sandbox, SandboxError, failure};

/// How many epochs, of a millisecond each, one run may last. Fuel decides, and deterministically; this is for what fuel
/// does not measure, and long enough that a busy machine does not change a verdict.
const EPOCHS_PER_RUN: u64 = 500;

/// Instances of some modules, on one thread.
///
/// The instance of a module that cannot remember anything, having no memory, no table and no global that changes, is
/// called again and again. Every other module gets a new one, in a store of its own, for each run.
pub struct Runner<H: HostCalls> {
    engine: Engine,
    warm: Store<Guests<H>>,
    seats: Vec<Seat<H>>,
}

/// One module, ready.
struct Seat<H: 'static> {
    entry: Entry<H>,
    n_rules: usize,
    /// `None` for what the compiler made: it cannot loop, and its calls are counted where it is compiled.
    grant: Option<Grant>,
}

enum Entry<H: 'static> {
    Warm(TypedFunc<(), i64>),
    Fresh(InstancePre<Guests<H>>),
}

/// What a module answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Bit `n` says whether rule `n` of its manifest matched.
    pub bits: u64,
    /// What it has to say of the match beyond that.
    pub said: Statement,
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
        let engine = sandbox.engine.clone();
        let mut warm = store(&engine, Room { n_instances: modules.len(), memory_bytes: 0 });
        warm.data_mut().host = Some(host);
        let mut linker = Linker::new(&engine);
        link::define_all(&mut linker).map_err(refused)?;
        let mut seats = Vec::with_capacity(modules.len());
        for admitted in modules {
            let entry = if admitted.remembers {
                Entry::Fresh(linker.instantiate_pre(&admitted.module).map_err(refused)?)
            } else {
                // Instantiation runs no code of the guest, admission saw to that, yet it is metered all the same.
                meter(&mut warm, FUEL_PER_RUN).map_err(refused)?;
                let instance = linker.instantiate(&mut warm, &admitted.module).map_err(refused)?;
                Entry::Warm(instance.get_typed_func(&mut warm, EVALUATE_EXPORT).map_err(refused)?)
            };
            seats.push(Seat { entry, n_rules: admitted.manifest.rules.len(), grant: admitted.grant() });
        }
        Ok(Self { engine, warm, seats })
    }

    /// What the guests ask their questions to.
    ///
    /// # Errors
    /// When a run ended in a panic: the runner is of no use any more.
    pub fn host(&mut self) -> Result<&mut H, SandboxError> {
        let lost = |_| SandboxError("the host was lost in a panic".to_owned());
        self.warm.data_mut().host().map_err(lost)
    }

    /// Runs one module.
    ///
    /// # Errors
    /// How it died. The other modules are none the worse for it.
    pub fn run(&mut self, module: usize) -> Result<Answer, RuleFailure> {
        let seat = self.seats.get(module).ok_or(RuleFailure::Internal)?;
        let ran = match &seat.entry {
            Entry::Warm(entry) => call(&mut self.warm, seat, entry),
            Entry::Fresh(instance) => {
                let memory_bytes = seat.grant.map_or(0, |grant| grant.memory_bytes);
                let mut fresh = store(&self.engine, Room { n_instances: 1, memory_bytes });
                fresh.data_mut().host = self.warm.data_mut().host.take();
                let ran = call_fresh(&mut fresh, seat, instance);
                self.warm.data_mut().host = fresh.data_mut().host.take();
                ran
            }
        };
        let answer = ran.map_err(|error| failure::classify(&error))?;
        let is_known = |bits: u64| seat.n_rules >= 64 || bits >> seat.n_rules == 0;
        if is_known(answer.bits) { Ok(answer) } else { Err(RuleFailure::InvalidOutput) }
    }
}

fn store<H: HostCalls>(engine: &Engine, room: Room) -> Store<Guests<H>> {
    let mut store = Store::new(engine, Guests::new(room));
    store.limiter(|guests| &mut guests.room);
    store
}

fn meter<H>(store: &mut Store<Guests<H>>, fuel: u64) -> wasmtime::Result<()> {
    store.set_epoch_deadline(EPOCHS_PER_RUN);
    store.set_fuel(fuel)
}

fn call_fresh<H: HostCalls>(
    store: &mut Store<Guests<H>>,
    seat: &Seat<H>,
    instance: &InstancePre<Guests<H>>,
) -> wasmtime::Result<Answer> {
    meter(store, seat.grant.map_or(FUEL_PER_RUN, |grant| grant.fuel))?;
    let instance = instance.instantiate(&mut *store)?;
    let memory = instance.get_memory(&mut *store, MEMORY_EXPORT);
    store.data_mut().memory = memory;
    let entry = instance.get_typed_func(&mut *store, EVALUATE_EXPORT)?;
    call(store, seat, &entry)
}

fn call<H: HostCalls>(
    store: &mut Store<Guests<H>>,
    seat: &Seat<H>,
    entry: &TypedFunc<(), i64>,
) -> wasmtime::Result<Answer> {
    meter(store, seat.grant.map_or(FUEL_PER_RUN, |grant| grant.fuel))?;
    let guests = store.data_mut();
    guests.calls_left = seat.grant.map(|grant| grant.host_calls);
    guests.n_rules = seat.n_rules;
    // What one left that died is not for the next.
    guests.said = Statement::default();
    let bits = entry.call(&mut *store, ())?.cast_unsigned();
    Ok(Answer { bits, said: std::mem::take(&mut store.data_mut().said) })
}

impl<H: HostCalls> std::fmt::Debug for Runner<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("modules", &self.seats.len()).finish_non_exhaustive()
    }
}
