//! Checks of everything that the settings refer to outside the data directory.

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use tollgate_engine::artifacts::{ArtifactError, Compiler};
use tollgate_engine::policy::Policy;
use tollgate_engine::sandbox::Execution;
use tollgate_engine::sandbox::Sandbox;
use tollgate_model::calendar::ZoneData;
use tollgate_process::HistoryMemory;
use tollgate_process::tls;
use tollgate_store::{Holder, spill_directory};

use super::DoctorReport;
use tollgate_rules::intake::{Survey, survey};
use tollgate_telemetry::config::{
    Settings, authorities_named, proxies_set, read_status_words, substituted_settings, unknown_settings,
};
use tollgate_telemetry::logs::ErrorChain;

/// Maximum number of refused rule files reported.
const REFUSALS_SHOWN: usize = 20;

/// Checks the policy, time zones, status words, rule files, spill space and port.
pub(super) fn examine(settings: &Settings, holder: Holder, report: &mut DoctorReport) {
    match settings.rule_policy.as_deref().map(|path| (path, Policy::read(path))) {
        None => report.fine("policy", "none: everything is granted"),
        Some((path, Ok(_))) => report.fine("policy", &format!("{} can be read", path.display())),
        Some((_, Err(error))) => report.wrong("policy", &ErrorChain(&error).to_string()),
    }
    match ZoneData::of_directory(settings.zone_data_dir.as_deref()) {
        Ok(zones) => report.fine("zones", &format!("time zone data {}", zones.describe())),
        Err(error) => report.wrong("zones", &ErrorChain(&error).to_string()),
    }
    match (&settings.words.status_words, read_status_words(settings.words.status_words.as_deref())) {
        (None, Ok(_)) => report.fine("words", "the built-in table of status words"),
        (Some(path), Ok(_)) => report.fine("words", &format!("the status words of {}", path.display())),
        (_, Err(error)) => report.wrong("words", &ErrorChain(&error).to_string()),
    }
    rule_files(settings, report);
    let spill_dir = spill_directory(settings.spill_dir.as_deref(), &settings.data_dir);
    match fs::metadata(&spill_dir).map(|metadata| metadata.is_dir()) {
        Ok(true) => report.fine("spill", &format!("{} exists", spill_dir.display())),
        Ok(false) | Err(_) => report
            .wrong("spill", &format!("there is no directory {}; see SERVICE_SPILL_DIR", spill_dir.display())),
    }
    machine(settings, report);
    environment(report);
    port(settings, holder, report);
}

/// Checks memory, executable memory, and the confinement of processes that handle untrusted input.
fn machine(settings: &Settings, report: &mut DoctorReport) {
    let memory = HistoryMemory::new(settings.memory_limit_bytes);
    match memory.lack() {
        Some(lack) => report.warn("memory", &lack),
        None => report.fine("memory", &memory.to_string()),
    }
    match Sandbox::executing(settings.execution) {
        Ok(_) if settings.execution == Execution::Interpreted => {
            report.fine("machine code", "rules are interpreted (SERVICE_EXECUTION)");
        }
        Ok(_) => report.fine("machine code", "memory can be made executable"),
        Err(error) => report.wrong("machine code", &ErrorChain(&error).to_string()),
    }
    match Compiler::of_this_program(settings.walls_are_needed).walls() {
        Ok(walls) if walls.is_one_missing() => report.warn("confinement", &walls.to_string()),
        Ok(walls) => report.fine("confinement", &walls.to_string()),
        Err(ArtifactError::Refused(why) | ArtifactError::Unavailable(why)) => {
            report
                .wrong("confinement", &format!("modules cannot be compiled, and Git cannot be used: {why}"));
        }
    }
}

/// Checks the rules directory and reports files that the service would refuse.
fn rule_files(settings: &Settings, report: &mut DoctorReport) {
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

/// Warns of variables that look like settings but are none, of proxy settings that are ignored, and of missing
/// certificates.
fn environment(report: &mut DoctorReport) {
    let unknown = unknown_settings();
    if !unknown.is_empty() {
        report.warn("variables", &format!("{}: not a setting, without effect", unknown.join(", ")));
    }
    let substituted = substituted_settings().join(", ");
    if !substituted.is_empty() {
        report.warn(
            "variables",
            &format!("{substituted}: `.env` has a `$` there, which is replaced by a variable; single quotes keep it"),
        );
    }
    let proxies = proxies_set().join(", ");
    if !proxies.is_empty() {
        report.warn(
            "proxy",
            &format!("{proxies}: ignored; connections to Git, webhooks, tunnel and ledger are direct"),
        );
    }
    if let Err(why) = tls::authorities(authorities_named()) {
        report.warn("authorities", &why);
    }
}

fn port(settings: &Settings, holder: Holder, report: &mut DoctorReport) {
    let address = SocketAddr::new(settings.host, settings.port);
    match (TcpListener::bind(address), holder) {
        (Ok(_), _) => report.fine("port", &format!("{address} is free")),
        (Err(_), Holder::Process(_)) => {
            report.fine("port", &format!("{address} is in use, perhaps by the running service"));
        }
        (Err(error), Holder::Nobody) => report
            .wrong("port", &format!("{address}: {error}; choose another with SERVICE_HOST and SERVICE_PORT")),
    }
}
