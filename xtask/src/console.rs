//! The console from its sources, for those who change it.

use anyhow::Context as _;

use crate::{process, root};

/// Serves the console in front of a service, until it is stopped.
pub(crate) fn serve(service: &str, port: u16) -> anyhow::Result<()> {
    let console = root().join("console");
    if !console.join("node_modules").exists() {
        process::run(&console, "npm", &["ci"]).context("Node 18 and npm are needed: nodejs, npm")?;
    }
    process::run(&console, "node", &["dev.mjs", service, &port.to_string()])
}
