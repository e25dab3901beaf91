//! Compiles scripts and admits modules in parallel.

use std::num::NonZeroUsize;
use std::thread;

use tollgate_engine::registry::Lists;
use tollgate_model::instruction::{InstructionSource, RuleContent};

use crate::intake::{Draft, IntakeDeps, IntakeError};

/// Minimum number of files per thread.
const FILES_PER_THREAD_MIN: usize = 16;

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
        Draft::of(deps, lists, source, (*content).clone())
    };
    let n_cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let n_threads_max = match pace {
        CompileThreads::AllCores => n_cores,
        CompileThreads::HalfOfThem => n_cores.div_ceil(2),
    };
    let n_threads = n_threads_max.min(contents.len() / FILES_PER_THREAD_MIN).max(1);
    if n_threads == 1 {
        return contents.iter().map(compile).collect();
    }
    let compile_share =
        |share: &[(InstructionSource, &RuleContent)]| share.iter().map(compile).collect::<Vec<_>>();
    thread::scope(|scope| {
        let threads: Vec<_> = contents
            .chunks(contents.len().div_ceil(n_threads))
            .map(|share| (share.len(), scope.spawn(move || compile_share(share))))
            .collect();
        let drafts = threads.into_iter().flat_map(|(n_files, thread)| {
            let fault = || IntakeError::Refused("the compiler failed".to_owned());
            thread.join().unwrap_or_else(|_| (0..n_files).map(|_| Err(fault())).collect())
        });
        drafts.collect()
    })
}
