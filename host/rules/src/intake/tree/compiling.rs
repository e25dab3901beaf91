//! Compiles scripts and admits modules in parallel.

use std::num::NonZeroUsize;
use std::thread;

use tollgate_engine::registry::Lists;
use tollgate_model::instruction::{InstructionSource, RuleContent};

use crate::intake::{Draft, IntakeDeps, IntakeError};

/// Minimum number of files or rules per thread.
const ITEMS_PER_THREAD_MIN: usize = 16;

/// Share of the cores for compiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::intake) enum CompileThreads {
    /// All cores, at startup.
    AllCores,
    /// Half of the cores, while transactions are being evaluated.
    HalfOfThem,
}

/// Compiles each script and admits each module; results are in the order of the files.
pub(super) fn compile_all(
    pace: CompileThreads,
    deps: &IntakeDeps,
    lists: &Lists,
    contents: &[(InstructionSource, &RuleContent)],
) -> Vec<Result<Draft, IntakeError>> {
    let compile = |(source, content): &(InstructionSource, &RuleContent)| {
        Draft::from_content(deps, lists, source, (*content).clone())
    };
    in_parallel(pace, contents, compile)
}

/// Makes something of each item, in their order. Where that panics, it is an error, and so it is for all items of the same
/// thread.
pub(super) fn in_parallel<T: Sync, D: Send>(
    pace: CompileThreads,
    items: &[T],
    make: impl Fn(&T) -> Result<D, IntakeError> + Sync,
) -> Vec<Result<D, IntakeError>> {
    let n_cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let n_threads_max = match pace {
        CompileThreads::AllCores => n_cores,
        CompileThreads::HalfOfThem => n_cores.div_ceil(2),
    };
    let n_threads = n_threads_max.min(items.len() / ITEMS_PER_THREAD_MIN).max(1);
    if n_threads == 1 {
        return items.iter().map(make).collect();
    }
    let make = &make;
    thread::scope(|scope| {
        let threads: Vec<_> = items
            .chunks(items.len().div_ceil(n_threads))
            .map(|share| (share.len(), scope.spawn(move || share.iter().map(make).collect::<Vec<_>>())))
            .collect();
        let made = threads.into_iter().flat_map(|(n_items, thread)| {
            let fault = || IntakeError::Refused("the compiler failed".to_owned());
            thread.join().unwrap_or_else(|_| (0..n_items).map(|_| Err(fault())).collect())
        });
        made.collect()
    })
}
