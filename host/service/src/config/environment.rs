//! Access to the process environment; no other module reads it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use tollgate_compiler::nearest_within;

use crate::config::{ConfigError, SECTIONS};

/// Sets the variables of `.env` in the working directory that the environment does not set. The file is optional.
///
/// # Errors
/// Returns an error if the file exists but cannot be read.
pub(crate) fn load_dotenv() -> Result<(), ConfigError> {
    let unset: Vec<&str> = known_settings().filter(|name| env::var_os(name).is_none()).collect();
    match dotenvy::from_path(".env") {
        Ok(()) => {
            let of_file = unset.into_iter().filter(|name| env::var_os(name).is_some());
            // A second reading finds all of them set.
            OF_FILE.set(of_file.collect()).ok();
            Ok(())
        }
        Err(dotenvy::Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(ConfigError::Dotenv(error.to_string())),
    }
}

/// The settings that the file `.env` supplied.
static OF_FILE: OnceLock<Vec<&'static str>> = OnceLock::new();

/// A setting as it is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingInForce {
    /// Name of the variable.
    pub name: &'static str,
    /// Its value, or the words that describe the default; `None` if it is a secret.
    pub value: Option<String>,
    /// The source of the value.
    pub origin: SettingOrigin,
}

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// The environment of the process.
    Environment,
    /// The file `.env`.
    File,
    /// The program.
    Default,
}

/// Returns all settings of this process.
#[must_use]
pub(crate) fn settings_in_force() -> Vec<SettingInForce> {
    let of_file = OF_FILE.get().map_or(&[][..], Vec::as_slice);
    let variables = SECTIONS.iter().flat_map(|(_, section)| *section);
    let in_force = variables.map(|variable| {
        let set = env::var_os(variable.name).filter(|value| !value.is_empty());
        let origin = match &set {
            None => SettingOrigin::Default,
            Some(_) if of_file.contains(&variable.name) => SettingOrigin::File,
            Some(_) => SettingOrigin::Environment,
        };
        let value = set.map_or_else(
            || Some(variable.default.to_owned()),
            |value| (!variable.is_secret).then(|| value.to_string_lossy().into_owned()),
        );
        SettingInForce { name: variable.name, value, origin }
    });
    in_force.collect()
}

fn known_settings() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().flat_map(|(_, section)| *section).map(|known| known.name)
}

/// Returns a variable of this process; an empty one counts as unset.
///
/// # Errors
/// Returns an error if the value is not UTF-8.
pub(crate) fn process_environment(name: &'static str) -> Result<Option<String>, ConfigError> {
    let text = |value: OsString| {
        value.into_string().map_err(|_| ConfigError::Invalid {
            name,
            given: "bytes that are not UTF-8".to_owned(),
            allowed: "text",
        })
    };
    Ok(env::var_os(name).map(text).transpose()?.filter(|value| !value.is_empty()))
}

/// Prefixes of the settings of this program.
const PREFIXES: [&str; 5] = ["ALERT_", "LEDGER_", "SERVICE_", "TUNNEL_", "WATCH_"];

/// Different letters up to which a name is taken for a misspelt setting.
const TYPING_ERRORS_MAX: usize = 2;

/// Parts of the variables by which Kubernetes tells a container of each Service, such as `LEDGER_SERVICE_HOST`.
const KUBERNETES: [&str; 3] = ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT_"];

/// Returns the variables that are set and begin as a setting does, but are none; each in backquotes, with the setting
/// that it resembles.
#[must_use]
pub(crate) fn unknown_settings() -> Vec<String> {
    let known: Vec<&str> = known_settings().collect();
    let set = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let unknown = set.filter(|(name, value)| is_like_a_setting(name, value) && !known.contains(&&**name));
    let described = |name: &str| match nearest_within(name, TYPING_ERRORS_MAX, known.iter().copied()) {
        Some(setting) => format!("`{name}` (did you mean `{setting}`?)"),
        None => format!("`{name}`"),
    };
    unknown.map(|(name, _)| described(&name)).collect()
}

fn is_like_a_setting(name: &str, value: &OsStr) -> bool {
    let is_of_kubernetes = KUBERNETES.iter().any(|part| name.contains(part))
        || ["tcp://", "udp://"].iter().any(|scheme| value.as_encoded_bytes().starts_with(scheme.as_bytes()));
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !is_of_kubernetes
}

/// Returns the proxy variables of other programs that are set. The service ignores all of them.
#[must_use]
pub(crate) fn proxies_set() -> Vec<&'static str> {
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .into_iter()
        .filter(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
        .collect()
}

/// Returns the file of certificate authorities that `SSL_CERT_FILE` names.
#[must_use]
pub(crate) fn authorities_named() -> Option<PathBuf> {
    env::var_os("SSL_CERT_FILE").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns whether systemd, or a compatible supervisor, expects notifications of start and stop.
#[must_use]
pub(crate) fn is_supervised() -> bool {
    env::var_os("NOTIFY_SOCKET").is_some()
}
