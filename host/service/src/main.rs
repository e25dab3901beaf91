//! The binary `tollgate`.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;
use tollgate::cli::{self, CliAction};
use tollgate::service;
use tollgate_process::keep_files_private;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    keep_files_private();
    match cli::run(std::env::args_os()) {
        CliAction::Serve(arguments) => service::serve(arguments),
        CliAction::Exit(code) => ExitCode::from(code),
    }
}
