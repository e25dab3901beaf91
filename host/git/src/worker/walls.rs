//! Limits and confinement of a worker, applied before it touches untrusted data.

use std::path::Path;

use super::message::{Task, WorkerRequest};
use crate::TRANSFER_BYTES_MAX;
use tollgate_process::{self as process, Confinement, LimitError, PathAccess, ProcessLimits, ProcessNeeds};

pub(super) const LIMITS: ProcessLimits = ProcessLimits {
    // The wall-clock limit of the service is usually stricter.
    processor_seconds: 600,
    // A few of the largest objects at a time.
    memory_bytes: 256 << 20,
    // Includes mapped packs and the program itself.
    address_bytes: 2 << 30,
    // A whole transfer, plus the additions of an index or a thin pack.
    file_bytes: TRANSFER_BYTES_MAX + (64 << 20),
    // Every fetch of new objects leaves a pack in the clone, and libgit2 keeps all packs open.
    open_files: 4_096,
};
/// libgit2 reads this file whenever it opens a repository; that cannot be disabled. The clone's configuration replaces
/// it at once.
const CONFIGURATION: &str = "/etc/gitconfig";

/// Applies the limits that do not depend on the request.
pub(super) fn limit() -> Result<(), LimitError> {
    process::limit(&LIMITS)
}

/// Applies the limits and the confinement for a request.
pub(super) fn raise(request: &WorkerRequest) -> Confinement {
    process::limit_processor(request.time_max_ms.div_ceil(1000) + 1).ok();
    let mut paths: Vec<(&Path, PathAccess)> = vec![
        (&request.git_directory, PathAccess::Write),
        (&request.objects, PathAccess::Read),
        (Path::new(CONFIGURATION), PathAccess::Read),
    ];
    if let Some(neighbour) = &request.neighbour {
        // A push to a local path writes there.
        let is_written = matches!(request.task, Task::Push { .. });
        paths.push((neighbour, if is_written { PathAccess::Write } else { PathAccess::Read }));
    }
    process::raise(&ProcessNeeds::Paths { paths: &paths, port: request.port })
}
