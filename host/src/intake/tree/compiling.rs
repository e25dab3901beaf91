//! Many scripts compiled side by side.

use std::num::NonZeroUsize;
use std::thread;

use crate::intake::{Draft, IntakeError};
use crate::registry::Lists;
use crate::sandbox::Sandbox;

/// Fewer scripts than this for each thread are not worth one.
const SCRIPTS_PER_THREAD_MIN: usize = 16;

/// Who else wants the cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::intake) enum Pace {
    /// Nobody: the service starts.
    AllCores,
    /// Those who judge transactions.
    HalfOfThem,
}

/// Compiles each script; the answers are in the order of the scripts.
pub(super) fn compile_all(
    pace: Pace,
    sandbox: &Sandbox,
    lists: &Lists,
    scripts: &[&str],
) -> Vec<Result<Draft, IntakeError>> {
    let compile = |script: &&str| Draft::compile(sandbox, lists, (*script).to_owned());
    let n_cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let n_threads_max = match pace {
        Pace::AllCores => n_cores,
        Pace::HalfOfThem => n_cores.div_ceil(2),
    };
    let n_threads = n_threads_max.min(scripts.len() / SCRIPTS_PER_THREAD_MIN).max(1);
    if n_threads == 1 {
        return scripts.iter().map(compile).collect();
    }
    let compile_share = |share: &[&str]| share.iter().map(compile).collect::<Vec<_>>();
    thread::scope(|scope| {
        let threads: Vec<_> = scripts
            .chunks(scripts.len().div_ceil(n_threads))
            .map(|share| (share.len(), scope.spawn(move || compile_share(share))))
            .collect();
        let drafts = threads.into_iter().flat_map(|(n_scripts, thread)| {
            let fault = || IntakeError::Refused("the compiler failed".to_owned());
            thread.join().unwrap_or_else(|_| (0..n_scripts).map(|_| Err(fault())).collect())
        });
        drafts.collect()
    })
}
