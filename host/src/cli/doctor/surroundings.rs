//! What the settings name outside the data directory.

use std::fs;
use std::net::{SocketAddr, TcpListener};

use super::Report;
use crate::config::Settings;
use crate::policy::Policy;
use crate::store::Holder;
use crate::telemetry::logs::Causes;

/// Policy, rule files, room for the history, port.
pub(super) fn examine(settings: &Settings, holder: Holder, report: &mut Report) {
    match settings.rule_policy.as_deref().map(|path| (path, Policy::read(path))) {
        None => report.fine("policy", "none: everything is granted"),
        Some((path, Ok(_))) => report.fine("policy", &format!("{} can be read", path.display())),
        Some((_, Err(error))) => report.wrong("policy", &Causes(&error).to_string()),
    }
    let rules = settings.rules_dir.display();
    match fs::read_dir(&settings.rules_dir) {
        Ok(_) => report.fine("rule files", &format!("{rules} can be read")),
        Err(error) if settings.rules_dir_is_set => {
            report.wrong("rule files", &format!("{rules}: {error}; see WATCH_SCRIPT_DIR"));
        }
        Err(_) => report.fine("rule files", &format!("none: there is no {rules}")),
    }
    match fs::metadata(&settings.spill_dir).map(|metadata| metadata.is_dir()) {
        Ok(true) => report.fine("spill", &format!("{} is there", settings.spill_dir.display())),
        Ok(false) | Err(_) => report.wrong(
            "spill",
            &format!("there is no directory {}; see SERVICE_SPILL_DIR", settings.spill_dir.display()),
        ),
    }
    port(settings, holder, report);
}

fn port(settings: &Settings, holder: Holder, report: &mut Report) {
    let address = SocketAddr::new(settings.host, settings.port);
    match (TcpListener::bind(address), holder) {
        (Ok(_), _) => report.fine("port", &format!("{address} is free")),
        (Err(_), Holder::Process(_)) => {
            report.fine("port", &format!("{address} is taken, perhaps by the service that runs"));
        }
        (Err(error), Holder::Nobody) => report
            .wrong("port", &format!("{address}: {error}; choose another with SERVICE_HOST and SERVICE_PORT")),
    }
}
