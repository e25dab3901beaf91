//! Access to the process environment; no other module reads it.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::config::ConfigError;

/// Sets the variables of `.env` in the working directory that the environment does not set. The file is optional.
///
/// # Errors
/// Returns an error if the file exists but cannot be read.
pub(crate) fn load_dotenv() -> Result<(), ConfigError> {
    match dotenvy::from_path(".env") {
        Ok(()) => Ok(()),
        Err(dotenvy::Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(ConfigError::Dotenv(error.to_string())),
    }
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
