//! What commands share that work on a data directory beside the service, or without it.

use std::path::PathBuf;

use tokio::runtime::Builder;

use crate::cli::say;
use crate::config::{data_dir, load_dotenv, process_environment};

/// The directory that was named, or that of the settings; `None`, and a word about it, when these cannot be read.
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

/// Waits for it on this thread; `None`, and a word about it, when the system gives nothing to wait with.
pub(super) fn run_here<T>(work: impl Future<Output = T>) -> Option<T> {
    match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => Some(runtime.block_on(work)),
        Err(error) => {
            say(&format!("error: {error}"));
            None
        }
    }
}
