//! The binary `tollgate`.

use std::process::ExitCode;

use tollgate::cli::{self, Next};
use tollgate::service;

fn main() -> ExitCode {
    match cli::run(std::env::args_os()) {
        Next::Serve => service::serve(),
        Next::Exit(code) => ExitCode::from(code),
    }
}
