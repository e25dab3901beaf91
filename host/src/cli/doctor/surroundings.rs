//! What the settings name outside the data directory.

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use super::Report;
use crate::calendar::ZoneData;
use crate::config::Settings;
use crate::intake::{Survey, survey};
use crate::policy::Policy;
use crate::store::Holder;
use crate::telemetry::logs::Causes;

/// Most rule files that cannot be taken of which each gets a line.
const REFUSALS_SHOWN: usize = 20;

/// Policy, time zones, rule files, room for the history, port.
pub(super) fn examine(settings: &Settings, holder: Holder, report: &mut Report) {
    match settings.rule_policy.as_deref().map(|path| (path, Policy::read(path))) {
        None => report.fine("policy", "none: everything is granted"),
        Some((path, Ok(_))) => report.fine("policy", &format!("{} can be read", path.display())),
        Some((_, Err(error))) => report.wrong("policy", &Causes(&error).to_string()),
    }
    match ZoneData::of_directory(settings.zone_data_dir.as_deref()) {
        Ok(zones) => report.fine("zones", &format!("time zone data {}", zones.describe())),
        Err(error) => report.wrong("zones", &Causes(&error).to_string()),
    }
    rule_files(settings, report);
    match fs::metadata(&settings.spill_dir).map(|metadata| metadata.is_dir()) {
        Ok(true) => report.fine("spill", &format!("{} is there", settings.spill_dir.display())),
        Ok(false) | Err(_) => report.wrong(
            "spill",
            &format!("there is no directory {}; see SERVICE_SPILL_DIR", settings.spill_dir.display()),
        ),
    }
    port(settings, holder, report);
}

/// What the service would find in the rules directory; what it could not take is named.
fn rule_files(settings: &Settings, report: &mut Report) {
    let rules = settings.rules_dir.display();
    match survey(&settings.rules_dir) {
        Ok(Survey { directory, tree, counts }) => {
            let words = format!("{}: {counts}", directory.display());
            let n_rules = counts.n_scripts + counts.n_modules;
            if n_rules == 0 || n_rules < settings.rules_required {
                let required = settings.rules_required;
                report.warn("rule files", &format!("{words}; SERVICE_RULES_REQUIRED is {required}"));
            } else {
                report.fine("rule files", &words);
            }
            for (path, why) in tree.refusals().take(REFUSALS_SHOWN) {
                report.warn("rule files", &format!("{path}: {why}"));
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound && settings.sources_are_optional => {
            report.warn("rule files", &format!("{rules}: {error}; SERVICE_SOURCES_OPTIONAL allows it"));
        }
        Err(error) if settings.rules_dir_is_set || error.kind() != ErrorKind::NotFound => {
            report.wrong("rule files", &format!("{rules}: {error}; see WATCH_SCRIPT_DIR"));
        }
        Err(_) => report.fine("rule files", &format!("none: there is no {rules}")),
    }
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
