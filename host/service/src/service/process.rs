//! The service process: settings, logs, runtime, signals and shutdown.
//!
//! | Signal | Effect |
//! |---|---|
//! | SIGTERM, SIGINT | the service answers accepted requests and exits; an early signal stays pending |
//! | SIGHUP | rereads the rules directory and fetches the repository at once; nothing else |
//! | SIGUSR1, SIGUSR2 | ignored |
//! | SIGPIPE | ignored by Rust's runtime; writing to a closed pipe returns an error |

use std::error::Error;
use std::process::ExitCode;

use nix::sys::signal::{SigSet, Signal as Number};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::cli::ServeArguments;
use crate::service::{Reload, Service, supervisor};
use tollgate_telemetry::config::{Settings, load_dotenv, process_environment};
use tollgate_telemetry::logs::{self, ErrorChain, LogsError};

const UNUSABLE_SETTINGS: u8 = 2;
/// Advice for an unusable store.
const WHERE_TO_LOOK: &str = "`tollgate doctor` examines the data directory and says what to do";

/// Runs the service until it is asked to stop. Returns exit code 0 when stopped, 1 on failure, 2 for invalid settings.
pub fn serve(arguments: ServeArguments) -> ExitCode {
    let code = serve_until_stopped(arguments);
    logs::flush();
    code
}

fn serve_until_stopped(arguments: ServeArguments) -> ExitCode {
    // Blocked until the handlers exist: the first process of a container would otherwise ignore early signals, and any
    // other process would die.
    let early = early_signals();
    early.thread_block().ok();
    // Before any thread starts, because `.env` changes the environment.
    let settings = match load_dotenv().and_then(|()| Settings::read(process_environment)) {
        Ok(settings) => Settings { accept_empty_store: arguments.accept_empty_store, ..settings },
        Err(error) => {
            logs::complain(&format!("error: {error}"));
            return ExitCode::from(UNUSABLE_SETTINGS);
        }
    };
    if let Err(error) = logs::init(settings.log_format, &settings.log_filter) {
        logs::complain(&format!("error: {}", ErrorChain(&error)));
        return match error {
            LogsError::Thread(_) => ExitCode::FAILURE,
            _ => ExitCode::from(UNUSABLE_SETTINGS),
        };
    }
    // The builder panics if the system provides no thread.
    let built = std::panic::catch_unwind(|| tokio::runtime::Builder::new_multi_thread().enable_all().build());
    match built.unwrap_or_else(|_| Err(std::io::Error::other(logs::NO_THREADS))) {
        Ok(runtime) => {
            let code = runtime.block_on(run(&settings, early));
            // A fetch from a slow remote is not awaited; the next start fetches again.
            runtime.shutdown_background();
            code
        }
        Err(error) => failed(&error, None),
    }
}

fn early_signals() -> SigSet {
    [Number::SIGTERM, Number::SIGINT, Number::SIGHUP, Number::SIGUSR1, Number::SIGUSR2].into_iter().collect()
}

async fn run(settings: &Settings, early: SigSet) -> ExitCode {
    let served = async {
        let stop = stop_signal()?;
        let reload_asked = signal(SignalKind::hangup())?;
        let _ignored = [signal(SignalKind::user_defined1())?, signal(SignalKind::user_defined2())?];
        let ends_of_processes = supervisor::ends_of_processes()?;
        early.thread_unblock().ok();
        let service = Service::start(settings).await?;
        tracing::info!(address = %service.address()?, "listening");
        let mut beside = vec![
            tokio::spawn(reload_when_asked(reload_asked, service.reload())),
            tokio::spawn(supervisor::tell(service.readiness())),
        ];
        beside.extend(ends_of_processes.map(|ended| tokio::spawn(supervisor::adopt(ended))));
        let ended = service.run(stop).await;
        beside.iter().for_each(JoinHandle::abort);
        ended
    };
    match served.await {
        Ok(()) => {
            tracing::info!("stopped");
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error, error.is_of_the_store().then_some(WHERE_TO_LOOK)),
    }
}

/// Returns a receiver that completes on SIGTERM or SIGINT.
fn stop_signal() -> std::io::Result<oneshot::Receiver<()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (send, stop) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: finishing accepted requests");
        supervisor::stopping();
        send.send(()).ok();
    });
    Ok(stop)
}

/// Reloads at each SIGHUP. A signal during startup is handled afterwards.
async fn reload_when_asked(mut asked: Signal, reload: Reload) {
    while asked.recv().await.is_some() {
        tracing::info!(
            "SIGHUP: reading the rules directory and the repository again; settings are read only at the start, and the log is \
             not reopened"
        );
        reload.reload().await;
    }
}

fn failed(error: &(dyn Error + 'static), help: Option<&str>) -> ExitCode {
    let help = help.or_else(|| is_without_threads(error).then_some(logs::NO_THREADS));
    tracing::error!(error = %ErrorChain(error), help, "the service stops");
    ExitCode::FAILURE
}

/// Returns whether an error means that the system provides no threads. During startup, no other operation fails with
/// this error kind.
fn is_without_threads(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source());
    causes.any(|cause| {
        let cause = cause.downcast_ref::<std::io::Error>();
        cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::WouldBlock)
    })
}
