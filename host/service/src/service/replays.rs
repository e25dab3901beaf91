//! Derives verdicts again while the service runs.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::runtime::Handle;
use tollgate_engine::artifacts::{Artifacts, Compiler};
use tollgate_engine::sandbox::Sandbox;
use tollgate_store::{Store, spill_directory};

use tollgate_rules::replay::{Audit, AuditDeps, Replays};
use tollgate_telemetry::config::Settings;

/// Memory of the history of one replay, in bytes; the rest is in files.
const MEMORY_BYTES: usize = 64 << 20;

/// Creates the replays. Requires the tokio runtime that owns the store's connections.
pub(super) fn create_replays(settings: &Settings, store: &Store, sandbox: &Sandbox) -> Replays {
    Replays::new(Audit::new(AuditDeps {
        store: store.clone(),
        executor: Handle::current(),
        artifacts: Arc::new(Artifacts::open(
            &settings.data_dir,
            sandbox,
            Compiler::of_this_program(settings.walls_are_needed),
        )),
        sandbox: sandbox.clone(),
        n_threads: NonZeroUsize::MIN,
        memory_bytes: MEMORY_BYTES,
        spill_dir: spill_directory(settings.spill_dir.as_deref(), &settings.data_dir),
    }))
}
