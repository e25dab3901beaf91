//! The service as a process: settings, logs, runtime, and an end when asked for one.

use std::error::Error;
use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::cli::say;
use crate::config::{Settings, load_dotenv, process_environment};
use crate::planted;
use crate::service::Service;
use crate::telemetry::logs::{self, Causes};

/// Exit code for settings that cannot be used.
const UNUSABLE_SETTINGS: u8 = 2;
/// What to do about a store that cannot be used.
const WHERE_TO_LOOK: &str = "`tollgate doctor` examines the data directory and says what to do";

/// Runs the service until it is asked to stop. Exit codes: 0 stopped, 1 it failed, 2 the settings cannot be used.
pub fn serve() -> ExitCode {
    // Before any thread starts: `.env` changes the environment.
    let settings = match load_dotenv().and_then(|()| Settings::read(process_environment)) {
        Ok(settings) => settings,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::from(UNUSABLE_SETTINGS);
        }
    };
    if let Err(error) = logs::init(settings.log_format, &settings.log_filter) {
        say(&format!("error: {error}"));
        return ExitCode::from(UNUSABLE_SETTINGS);
    }
    if let Err(error) = planted::plant(process_environment) {
        say(&format!("error: {error}"));
        return ExitCode::from(UNUSABLE_SETTINGS);
    }
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(run(&settings));
            // A fetch from a slow remote is nothing to wait for: what it brings is taken at the next start.
            runtime.shutdown_background();
            code
        }
        Err(error) => failed(&error, None),
    }
}

async fn run(settings: &Settings) -> ExitCode {
    let served = async {
        let stop = stop_signal()?;
        let service = Service::start(settings).await?;
        tracing::info!(address = %service.address()?, "listening");
        service.run(stop).await
    };
    match served.await {
        Ok(()) => {
            tracing::info!("stopped");
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error, error.is_of_the_store().then_some(WHERE_TO_LOOK)),
    }
}

/// Sent on SIGTERM or SIGINT.
fn stop_signal() -> std::io::Result<oneshot::Receiver<()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (send, stop) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: answering what was accepted");
        send.send(()).ok();
    });
    Ok(stop)
}

fn failed(error: &dyn Error, help: Option<&str>) -> ExitCode {
    tracing::error!(error = %Causes(error), help, "the service stops");
    ExitCode::FAILURE
}
