//! Helpers for commands that use a data directory without the service or beside it.

use std::path::PathBuf;

use tokio::runtime::Builder;

use crate::cli::say;
use tollgate_telemetry::config::{data_dir, load_dotenv, process_environment};

/// Returns the given directory or that of the settings; prints an error and returns `None` if the settings are
/// unreadable.
pub(super) fn data_dir_or_default(named: Option<PathBuf>) -> Option<PathBuf> {
    if named.is_some() {
        return named;
    }
    match load_dotenv().and_then(|()| data_dir(process_environment)) {
        Ok(data_dir) => Some(data_dir),
        Err(error) => {
            say(&format!("error: {error}"));
            None
        }
    }
}

/// Runs a future on this thread; prints an error and returns `None` if no runtime can be created.
pub(super) fn run_here<T>(work: impl Future<Output = T>) -> Option<T> {
    match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => Some(runtime.block_on(work)),
        Err(error) => {
            say(&format!("error: {error}"));
            None
        }
    }
}
