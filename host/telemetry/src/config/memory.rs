//! Settings of the memory of the history, and of what is not in it.

use super::reader::{Variable, variable};

pub(super) const MEMORY: Variable = variable(
    "SERVICE_MEMORY_LIMIT",
    "a size such as 512MiB or 2GiB, at least 1MiB",
    "a third of the memory of the control group or the machine, at most 2GiB",
    "Memory for the history. What exceeds it is kept in files; every answer stays exact.",
)
.explained_in("operations.md#memory");
pub(super) const SPILL_DIR: Variable = variable(
    "SERVICE_SPILL_DIR",
    "a directory",
    "the system's temporary directory; the data directory if that is in memory or not writable",
    "Directory of the file that holds the transactions, without their keys, that exceed the memory limit. The file is two to three times that size, has no name, and disappears when the service ends.",
);
pub(super) const KEYS_ON_DISK: Variable = variable(
    "SERVICE_KEYS_ON_DISK",
    "`true` or `false`",
    "true",
    "Whether accounts, cards and other keys leave memory with all their transactions when keys alone take half of the memory limit. They are kept in `history` in the data directory.",
)
.explained_in("operations.md#more-keys-than-memory");
