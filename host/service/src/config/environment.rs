//! The one place that reads the environment.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::config::ConfigError;

/// Sets what `.env` in the working directory names and the environment does not. No file is fine.
///
/// # Errors
/// When there is a file and it cannot be read.
pub fn load_dotenv() -> Result<(), ConfigError> {
    match dotenvy::from_path(".env") {
        Ok(()) => Ok(()),
        Err(dotenvy::Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(ConfigError::Dotenv(error.to_string())),
    }
}

/// A variable of this process; an empty one counts as not set.
///
/// # Errors
/// When it is not UTF-8.
pub fn process_environment(name: &'static str) -> Result<Option<String>, ConfigError> {
    let text = |value: OsString| {
        value.into_string().map_err(|_| ConfigError::Invalid {
            name,
            given: "bytes that are no UTF-8".to_owned(),
            allowed: "text",
        })
    };
    Ok(env::var_os(name).map(text).transpose()?.filter(|value| !value.is_empty()))
}

/// The variables by which other programs are told of a proxy, as far as they are set. The service heeds none of them.
#[must_use]
pub fn proxies_set() -> Vec<&'static str> {
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .into_iter()
        .filter(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
        .collect()
}

/// The file of certificate authorities that `SSL_CERT_FILE` names.
#[must_use]
pub fn authorities_named() -> Option<PathBuf> {
    env::var_os("SSL_CERT_FILE").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Whether systemd, or who does as it does, wants to hear of the start and the end.
#[must_use]
pub fn is_supervised() -> bool {
    env::var_os("NOTIFY_SOCKET").is_some()
}
