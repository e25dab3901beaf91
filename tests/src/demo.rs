//! A running `tollgate demo`.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a harness that cannot go on fails the test it serves"
)]

use std::path::Path;
use std::process::Child;

use crate::home::bare_command;
use crate::log::Log;
use crate::poll::PATIENCE;
use crate::{Home, process};

/// A demo whose people pay live.
#[derive(Debug)]
pub struct Demo {
    child: Child,
    log: Log,
    address: String,
}

impl Demo {
    /// Starts a demo with its data below `directory`, and waits until its past is played.
    ///
    /// # Panics
    /// Panics if it does not get so far.
    #[must_use]
    pub fn start(home: &Home, directory: &Path, arguments: &[&str]) -> Self {
        let mut command = bare_command(&home.current(), &["demo", "--port", "0"]);
        command.args(arguments).arg("--directory").arg(directory);
        let mut child = command.spawn().expect("the binary can be run");
        let log = Log::new(child.stderr.take().expect("it is a pipe"));
        let page = log.wait_for(PATIENCE, |line| {
            line.split_once("http://localhost:").map(|(_, port)| port.trim_end_matches('/').to_owned())
        });
        let Some(port) = page else { panic!("no page: {:?}", log.lines()) };
        let is_live = log.wait_for(PATIENCE, |line| line.contains("now they pay live").then_some(()));
        assert!(is_live.is_some(), "{:?}", log.lines());
        Self { child, log, address: format!("127.0.0.1:{port}") }
    }

    /// Address and port of its service.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// # Panics
    /// Panics if it has ended.
    #[track_caller]
    pub fn assert_runs(&mut self) {
        let status = self.child.try_wait().expect("its state can be read");
        assert!(status.is_none(), "{status:?} {:?}", self.log.lines());
    }

    /// Presses Ctrl+C. Returns how many payments it says were judged.
    ///
    /// # Panics
    /// Panics if it ends otherwise than well.
    #[track_caller]
    pub fn interrupt(mut self) -> u64 {
        process::signal(self.child.id(), "INT");
        let status = self.child.wait().expect("it can be waited for");
        self.log.finish();
        let lines = self.log.lines();
        assert_eq!(status.code(), Some(0), "{lines:?}");
        let counts = lines.last().and_then(|line| line.strip_prefix("payments judged: "));
        let counts = counts.unwrap_or_else(|| panic!("no counts: {lines:?}")).split(", ");
        counts
            .map(|count| count.split(' ').next().and_then(|n| n.parse::<u64>().ok()).expect("a number"))
            .sum()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            process::signal(self.child.id(), "INT");
            let _ = self.child.wait();
        }
    }
}
