//! Reports the results: Markdown tables, JSON with raw samples, and charts.

mod charts;
mod tables;

use serde_json::{Value as Json, json};

use super::BenchOptions;
use super::machine::MachineInfo;
use super::overload::OverloadRun;
use super::plot::Chart;
use super::service::ServiceRun;
use super::swap::SwapRun;

#[derive(Debug)]
pub(super) struct BenchReport {
    command: String,
    machine: MachineInfo,
    pub(super) services: Vec<ServiceRun>,
    pub(super) swaps: Vec<SwapRun>,
    pub(super) overload: Option<OverloadRun>,
}

impl BenchReport {
    pub(super) fn new(options: &BenchOptions, machine: MachineInfo) -> Self {
        let command = options.command.clone();
        Self { command, machine, services: Vec::new(), swaps: Vec::new(), overload: None }
    }

    /// Returns the report as Markdown, readable as plain text.
    pub(super) fn table(&self) -> String {
        let mut parts = vec![
            format!("`{}` · tollgate {}", self.command, version()),
            format!("{}.", self.machine.line()),
            format!(
                "A write of 4 KiB and its fdatasync, alone: p50 {:.2} ms, p99 {:.2} ms.",
                self.machine.fdatasync.permille_ms(500),
                self.machine.fdatasync.permille_ms(990)
            ),
        ];
        if !self.services.is_empty() {
            parts.push(tables::services(&self.services));
        }
        if !self.swaps.is_empty() {
            parts.push(tables::swaps(&self.swaps));
        }
        parts.extend(self.overload.as_ref().map(tables::overload));
        parts.join("\n\n")
    }

    pub(super) fn json(&self) -> Json {
        json!({
            "command": self.command,
            "version": version(),
            "machine": self.machine.json(),
            "service": self.services.iter().map(ServiceRun::json).collect::<Vec<_>>(),
            "swap": self.swaps.iter().map(SwapRun::json).collect::<Vec<_>>(),
            "overload": self.overload.as_ref().map(OverloadRun::json),
        })
    }

    pub(super) fn charts(&self) -> Vec<Chart> {
        let mut charts = Vec::new();
        if !self.services.is_empty() {
            charts.extend(charts::services(&self.services));
        }
        if !self.swaps.is_empty() {
            charts.push(charts::swaps(&self.swaps));
        }
        charts.extend(self.overload.as_ref().map(charts::overload));
        charts
    }
}

fn version() -> String {
    let build = if cfg!(debug_assertions) { ", a debug build" } else { "" };
    format!("{}{build}", env!("CARGO_PKG_VERSION"))
}
