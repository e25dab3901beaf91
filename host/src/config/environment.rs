//! The one place that reads the environment.

use std::env;
use std::ffi::OsString;
use std::io;

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
