//! Assembles all modules into a service and runs it until shutdown.

mod disk_probe;
mod ledger;
mod links;
mod process;
mod readiness;
mod reload;
mod replays;
mod retention;
mod rules;
mod runtime_probe;
mod shared_parts;
mod snapshots;
mod supervisor;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::TimeDelta;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;
use tollgate_engine::evaluation::EvaluatorPool;
use tollgate_engine::policy::PolicyError;
use tollgate_history::{PastError, SpillError};
use tollgate_ledger::database::LedgerError;
use tollgate_model::calendar::ZoneDataError;
use tollgate_store::{Store, StoreError, StoredPast};

use tollgate_api::{self, AllowedHosts, ApiState, Listener, ListenerError, ReadinessProbe};
use tollgate_ledger::payments::OpenError;
use tollgate_ledger::sync::LedgerSync;
use tollgate_pipeline::alerting::{AlertingError, Delivery};
use tollgate_pipeline::monitor::{self, AcceptanceOrder, Committing, KnownHashes, Monitor};
use tollgate_rules::git_sync::{GitSyncError, Polling};
use tollgate_rules::intake::Following;
use tollgate_telemetry::config::{Settings, StatusWordsFileError};
use tollgate_telemetry::traces::TracesError;

use links::Links;
use readiness::LedgerSources;
use reload::Reload;
use rules::Rules;
use shared_parts::SharedParts;
use snapshots::Snapshots;

pub use process::serve;

/// Time that the start waits for the history, so that a small one is complete before the first request.
const RESTORE_PATIENCE: Duration = Duration::from_millis(30);

/// A listening service with its rules in force; its history is exact or still being restored.
pub struct Service {
    socket: TcpListener,
    listener: Listener,
    store: Store,
    monitor: Monitor,
    committing: Committing,
    restored: oneshot::Receiver<Result<(), PastError>>,
    snapshots: Arc<Snapshots>,
    background: BackgroundTasks,
    ledger: Option<LedgerSync>,
    delivery: Delivery,
    is_stopping: Arc<AtomicBool>,
    state: ApiState,
}

/// Background tasks, which run until this value is dropped.
struct BackgroundTasks {
    retention: JoinHandle<()>,
    /// Quarantine and suspension of rules, and reasons to hold payments.
    rules: [JoinHandle<()>; 3],
    _polling: Polling,
    following: Following,
    payments: JoinHandle<()>,
    surroundings: JoinHandle<()>,
}

impl Drop for BackgroundTasks {
    fn drop(&mut self) {
        self.retention.abort();
        self.rules.iter().for_each(JoinHandle::abort);
        self.payments.abort();
        self.surroundings.abort();
    }
}

/// The reason why the service does not start or ends.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The address is in use or not available.
    #[error("cannot listen on {address}: {source}; choose another with SERVICE_HOST and SERVICE_PORT")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// The system allows fewer open files than the configured connections need.
    #[error(transparent)]
    Listener(#[from] ListenerError),
    /// The store cannot be opened or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The sandbox cannot be set up.
    #[error(transparent)]
    Sandbox(#[from] tollgate_engine::sandbox::SandboxError),
    /// The rules cannot be loaded.
    #[error(transparent)]
    Rules(#[from] tollgate_rules::intake::StartError),
    /// The configured zone data is invalid.
    #[error(transparent)]
    Zones(#[from] ZoneDataError),
    /// The operator's status words are invalid.
    #[error(transparent)]
    StatusWords(#[from] StatusWordsFileError),
    /// The policy file is invalid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The store contains data that cannot be decoded.
    #[error(transparent)]
    Past(#[from] PastError),
    /// The history has no usable spill directory.
    #[error("{0}; choose another directory with SERVICE_SPILL_DIR")]
    Spill(#[from] SpillError),
    /// The configured repository is invalid.
    #[error("`WATCH_SCRIPT_GIT_REPO` cannot be used: {0}")]
    Git(#[from] GitSyncError),
    /// The configured ledger is invalid.
    #[error("`LEDGER_DSN` cannot be used: {0}")]
    Ledger(#[from] LedgerError),
    /// The payments in the store belong to another ledger.
    #[error(transparent)]
    Payments(#[from] OpenError),
    /// A link to another system cannot be set up.
    #[error(transparent)]
    Links(#[from] AlertingError),
    /// Traces cannot be exported.
    #[error(transparent)]
    Traces(#[from] TracesError),
    /// The committer ended unexpectedly; an internal error.
    #[error("transactions can no longer be committed")]
    Committer,
    /// The system provides no thread or socket.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl ServiceError {
    /// Returns whether the data directory may need an examination.
    const fn is_of_the_store(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Past(_))
    }
}

impl Service {
    /// Binds the port, opens the store, puts the rules in force and restores the history that they need.
    ///
    /// # Errors
    /// Returns the error of the first step that fails.
    pub async fn start(settings: &Settings) -> Result<Self, ServiceError> {
        let (socket, listener) = (listen(settings)?, Listener::open(&settings.connections)?);
        let configured = ledger::configured_ledger(settings)?;
        let (all, failing) = SharedParts::open(settings).await?;
        let Rules { directory, intake, git, polling } = Rules::start(settings, all.intake(settings)?).await?;
        let (surroundings, activity) = (all.surroundings(settings), all.activity(settings));
        let SharedParts { store, clock, history, registry, metrics, sandbox, breakers, checks, .. } = all;
        let snapshots = Snapshots::new(&history, store.last_sequence().await?, settings, &metrics);
        retention::begin(&history, &all.arrivals, settings);
        let (hashes, restored) = restore(&snapshots, &store, hashes_of(settings, &all.arrivals)).await?;
        let Links { alerting, delivery, keys, traces } = Links::open(settings, &store, &clock, &metrics)?;
        let (monitor, committing) = Monitor::start(monitor::MonitorDeps {
            clock: Arc::clone(&clock),
            history: Arc::clone(&history),
            restoring: Arc::clone(&snapshots.restoring),
            registry: Arc::clone(&registry),
            holds: all.holds,
            store: store.clone(),
            commits: surroundings.commits.clone(),
            alerting: alerting.clone(),
            pool: EvaluatorPool::start(settings.evaluation_threads, &sandbox)?,
            breakers,
            metrics: Arc::clone(&metrics),
            arrivals: all.arrivals,
            in_flight_max: settings.transactions_in_flight_max,
            amounts: settings.ledger.kind.amounts(),
            hashes,
        })?;
        let payments = ledger::payments(settings, &monitor, &store, &clock, &metrics, &alerting).await?;
        let background = BackgroundTasks {
            retention: retention::start(&history, &monitor, &snapshots.restoring, &clock, settings),
            rules: [intake.quarantine_failing(failing), intake.guard_memory(), intake.keep_holds()],
            _polling: polling,
            following: intake.follow(&directory).await,
            payments: tokio::spawn(payments.clone().run_maintenance()),
            surroundings: surroundings.follow(&checks, &monitor),
        };
        let ledger = ledger::follow(configured, settings, &payments, &store, &metrics, &clock, &checks);
        let (ledgers, is_stopping) = (LedgerSources::new(&ledger, payments.ledger_events()), Arc::default());
        let probe = readiness::probe(&store, checks, &alerting, &snapshots, ledgers, &is_stopping, &registry);
        let state = ApiState::new(tollgate_api::ApiDeps {
            monitor: Arc::new(monitor.clone()),
            replays: replays::create_replays(settings, &store, &sandbox),
            intake: Arc::new(intake.clone()),
            git,
            metrics,
            readiness: probe,
            payments,
            alerting,
            ledger_keys: keys,
            hosts: hosts_of(settings),
            requests: settings.requests,
            activity,
            traces,
        });
        Ok(Self {
            socket,
            listener,
            store,
            monitor,
            committing,
            restored,
            snapshots,
            background,
            ledger,
            delivery,
            is_stopping,
            state,
        })
    }

    /// Returns the local address.
    ///
    /// # Errors
    /// Returns an error if the system does not report the address.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn readiness(&self) -> ReadinessProbe {
        Arc::clone(&self.state.readiness)
    }

    /// Returns a handle that rechecks the rule sources.
    fn reload(&self) -> Reload {
        Reload::new(self.background.following.recheck(), self.state.git.clone())
    }

    /// Serves until `stop` is sent or dropped, then answers accepted requests and closes the store.
    ///
    /// # Errors
    /// Returns an error if the disk does not confirm a write, the committer ends unexpectedly, or the history cannot be
    /// restored.
    pub async fn run(self, stop: oneshot::Receiver<()>) -> Result<(), ServiceError> {
        let (traces, activity) = (self.state.traces.clone(), self.state.activity.clone());
        let (drain, draining) = oneshot::channel::<()>();
        let drained = async move {
            draining.await.ok();
        };
        let mut server = std::pin::pin!(tollgate_api::serve(self.socket, self.state, self.listener, drained));
        let writing = tokio::spawn(Arc::clone(&self.snapshots).write_now_and_then());
        let restoring = Arc::clone(&self.snapshots.restoring);
        let keeping = activity.keep(async move { restoring.wait().await });
        let mut committing = self.committing;
        tokio::select! {
            () = &mut server => {}
            ended = &mut committing => return Err(why(ended)),
            Ok(Err(error)) = self.restored => return Err(error.into()),
            _ = stop => {
                self.snapshots.restoring.give_up();
                self.is_stopping.store(true, Ordering::Relaxed);
                // Streams of events would not end by themselves.
                activity.events.close();
                drop(drain);
                server.await;
            }
        }
        drop(self.background);
        if let Some(ledger) = self.ledger {
            ledger.stop().await;
        }
        self.monitor.stop().await;
        if let Ok(Err(error)) = committing.try_recv() {
            return Err(error.into());
        }
        self.delivery.stop().await;
        if let Some(traces) = traces {
            traces.stop().await;
        }
        writing.abort();
        keeping.abort();
        activity.statistics.write().await;
        self.snapshots.write_last().await;
        self.store.close().await;
        Ok(())
    }
}

fn hashes_of(settings: &Settings, arrivals: &Arc<AcceptanceOrder>) -> Option<Arc<KnownHashes>> {
    let window = TimeDelta::microseconds(settings.hash_window?.micros());
    Some(Arc::new(KnownHashes::new(window, Arc::<AcceptanceOrder>::clone(arrivals))))
}

fn hosts_of(settings: &Settings) -> Arc<AllowedHosts> {
    Arc::new(AllowedHosts::new(settings.allowed_hosts.clone(), settings.allowed_origins.clone()))
}

/// Binds the port. It comes first: a second service on it must not touch the store of the first one.
fn listen(settings: &Settings) -> Result<TcpListener, ServiceError> {
    let address = SocketAddr::new(settings.host, settings.port);
    let socket = tollgate_api::listen(address).map_err(|source| ServiceError::Listen { address, source })?;
    if !settings.host.is_loopback() {
        tracing::warn!(%address, "the service listens beyond loopback, and its interface has no authentication");
    }
    Ok(socket)
}

/// Returns the error for a committer that ended before the monitor was stopped.
fn why(ended: Result<Result<(), StoreError>, RecvError>) -> ServiceError {
    match ended {
        Ok(Err(error)) => error.into(),
        Ok(Ok(())) | Err(_) => ServiceError::Committer,
    }
}

/// Starts restoring the history from the store and waits a little for it. A longer restore continues in the background,
/// while transactions wait some time for it and are then refused. Called when the rules are in force, so that reading the
/// store once fills every series that they need.
async fn restore(
    snapshots: &Arc<Snapshots>,
    store: &Store,
    hashes: Option<Arc<KnownHashes>>,
) -> Result<(Option<Arc<KnownHashes>>, oneshot::Receiver<Result<(), PastError>>), ServiceError> {
    snapshots.history.watch_process(shared_parts::resident_bytes);
    let of_monitor = hashes.clone();
    let (snapshots, store) = (Arc::clone(snapshots), store.clone());
    let past = StoredPast::of(&store);
    let (send, mut restored) = oneshot::channel();
    tokio::spawn(async move {
        let loaded = match hashes {
            Some(hashes) => hashes.load(&store).await,
            None => Ok(()),
        };
        match loaded {
            Ok(()) => drop(spawn_blocking(move || send.send(snapshots.restore(&past)).ok())),
            Err(error) => drop(send.send(Err(PastError { reason: error.to_string() }))),
        }
    });
    if let Ok(Ok(ended)) = timeout(RESTORE_PATIENCE, &mut restored).await {
        ended?;
        // The sender is gone.
        return Ok((of_monitor, oneshot::channel().1));
    }
    Ok((of_monitor, restored))
}
