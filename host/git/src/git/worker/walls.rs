//! What a worker takes away from itself before it touches anything of a stranger's.

use std::path::Path;

use super::message::{Task, WorkerRequest};
use crate::confinement::{self, Confinement, LimitError, PathAccess, ProcessLimits, ProcessNeeds};
use crate::git::TRANSFER_BYTES_MAX;

pub(super) const LIMITS: ProcessLimits = ProcessLimits {
    // The clock on the wall, which the service looks at, is stricter as a rule.
    processor_seconds: 600,
    // A few of the largest objects at a time.
    memory_bytes: 256 << 20,
    // With packs that are mapped and the program itself.
    address_bytes: 2 << 30,
    // A whole transfer, and what an index of it or a thin pack adds.
    file_bytes: TRANSFER_BYTES_MAX + (64 << 20),
    // Every fetch with news leaves a pack in the clone, and libgit2 keeps each open.
    open_files: 4_096,
};
/// Read by libgit2 whenever it opens a repository, and overruled at once; it cannot be told not to.
const CONFIGURATION: &str = "/etc/gitconfig";

/// What needs to know nothing of the request.
pub(super) fn limit() -> Result<(), LimitError> {
    confinement::limit(&LIMITS)
}

/// All else.
pub(super) fn raise(request: &WorkerRequest) -> Confinement {
    confinement::limit_processor(request.time_max_ms.div_ceil(1000) + 1).ok();
    let mut places: Vec<(&Path, PathAccess)> = vec![
        (&request.git_directory, PathAccess::Write),
        (&request.objects, PathAccess::Read),
        (Path::new(CONFIGURATION), PathAccess::Read),
    ];
    if let Some(neighbour) = &request.neighbour {
        // Who pushes to a path of this machine writes there.
        let is_written = matches!(request.task, Task::Push { .. });
        places.push((neighbour, if is_written { PathAccess::Write } else { PathAccess::Read }));
    }
    confinement::raise(&ProcessNeeds::Places { places: &places, port: request.port })
}
