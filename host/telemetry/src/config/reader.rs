//! Environment variables and their typed parsing; an invalid value is refused with the allowed values.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_guest_abi::Window;

use tollgate_model::secret::Secret;

use crate::config::environment::is_of_file;

/// Maximum length of a token or an address, in bytes.
const SECRET_BYTES_MAX: usize = 4096;

/// Parses a number with a unit; a bare number is in seconds.
pub(super) fn time_of(text: &str) -> Option<Duration> {
    let units = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let of_unit = |(unit, milliseconds)| Some((text.trim().strip_suffix(unit)?.trim_end(), milliseconds));
    let (number, milliseconds) = units.into_iter().find_map(of_unit).unwrap_or((text.trim(), 1000));
    number.parse::<u64>().ok()?.checked_mul(milliseconds).map(Duration::from_millis)
}

/// Lower bound of memory sizes, in bytes; smaller sizes are of no use.
const MEMORY_MIN: usize = 1 << 20;

/// Parses a whole number of bytes, `KiB`, `MiB`, `GiB` or `TiB`.
fn bytes_of(text: &str) -> Option<usize> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let of_unit = |(unit, shift)| Some((text.strip_suffix(unit)?.trim_end(), 1_usize << shift));
    let (number, factor) = units.into_iter().find_map(of_unit).unwrap_or((text, 1));
    number.parse::<usize>().ok()?.checked_mul(factor)
}

/// A setting, as listed by `--help` and in `docs/configuration.md`.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// Name of the variable.
    pub name: &'static str,
    /// Allowed values.
    pub allowed: &'static str,
    /// Default value.
    pub default: &'static str,
    /// Purpose of the variable, in sentences.
    pub meaning: &'static str,
    /// Page of `docs` that explains it, with an anchor if needed.
    pub page: Option<&'static str>,
    /// Whether its value must not be shown.
    pub is_secret: bool,
}

/// The reason why the service cannot start with its settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A value is invalid.
    #[error("`{name}` is set to {}; it takes {allowed}", shown(given.as_deref()))]
    Invalid {
        /// Name of the variable.
        name: &'static str,
        /// Its value, truncated; `None` if it must not be shown.
        given: Option<String>,
        /// Allowed values.
        allowed: &'static str,
    },
    /// The file `.env` exists but is invalid.
    #[error("the file `.env` cannot be read: {0}")]
    Dotenv(String),
}

fn shown(given: Option<&str>) -> String {
    given.map_or_else(|| "a value that is not shown".to_owned(), |given| format!("`{given}`"))
}

pub(super) const fn variable(
    name: &'static str,
    allowed: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Variable {
    Variable { name, allowed, default, meaning, page: None, is_secret: false }
}

pub(super) struct SettingsReader<E> {
    pub(super) environment: E,
}

impl<E: Fn(&'static str) -> Result<Option<String>, ConfigError>> SettingsReader<E> {
    pub(super) fn text(&self, variable: Variable) -> Result<Option<String>, ConfigError> {
        (self.environment)(variable.name)
    }

    pub(super) fn path(&self, variable: Variable) -> Result<PathBuf, ConfigError> {
        Ok(self.text(variable)?.map_or_else(|| variable.default.into(), PathBuf::from))
    }

    pub(super) fn parsed<T: std::str::FromStr>(&self, variable: Variable) -> Result<Option<T>, ConfigError> {
        self.parsed_by(variable, |text| text.parse().ok())
    }

    /// Parses the value with `parse`, without surrounding blanks.
    pub(super) fn parsed_by<T>(
        &self,
        variable: Variable,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.text(variable)? else { return Ok(None) };
        parse(text.trim()).map(Some).ok_or_else(|| variable.refuse(&text))
    }

    pub(super) fn count(&self, variable: Variable, max: usize) -> Result<Option<NonZeroUsize>, ConfigError> {
        match self.parsed::<NonZeroUsize>(variable)? {
            Some(count) if count.get() > max => Err(variable.refuse(&count.to_string())),
            count => Ok(count),
        }
    }

    /// Reads a whole number of at most `max`; 0 if unset.
    pub(super) fn up_to(&self, variable: Variable, max: usize) -> Result<usize, ConfigError> {
        match self.parsed::<usize>(variable)?.unwrap_or(0) {
            number if number > max => Err(variable.refuse(&number.to_string())),
            number => Ok(number),
        }
    }

    pub(super) fn size(&self, variable: Variable) -> Result<Option<usize>, ConfigError> {
        self.parsed_by(variable, |text| bytes_of(text).filter(|bytes| *bytes >= MEMORY_MIN))
    }

    pub(super) fn window(&self, variable: Variable) -> Result<Window, ConfigError> {
        let text = self.text(variable)?.unwrap_or_else(|| variable.default.to_owned());
        Window::parse(text.trim()).ok_or_else(|| variable.refuse(&text))
    }

    pub(super) fn interval(&self, variable: Variable) -> Result<Option<Duration>, ConfigError> {
        let text = self.text(variable)?.unwrap_or_else(|| variable.default.to_owned());
        match text.trim() {
            "0" => Ok(None),
            duration => {
                let window = Window::parse(duration).ok_or_else(|| variable.refuse(&text))?;
                Ok(Some(Duration::from_micros(window.micros().unsigned_abs())))
            }
        }
    }

    /// Reads a secret. The error omits the value: it may be the secret, misplaced or with one extra character.
    pub(super) fn secret(&self, variable: Variable) -> Result<Option<Secret>, ConfigError> {
        let is_one = |text: &&str| text.len() <= SECRET_BYTES_MAX && !text.contains(char::is_control);
        let secret_of = |text: &str| Some(text).filter(is_one).map(|text| Secret::new(text.to_owned()));
        self.parsed_by(variable, secret_of).map_err(|_| variable.refuse("***"))
    }

    /// Reads a number with a unit; a bare number is in seconds.
    pub(super) fn time(
        &self,
        variable: Variable,
        allowed: RangeInclusive<Duration>,
    ) -> Result<Duration, ConfigError> {
        let text = self.text(variable)?.unwrap_or_else(|| variable.default.to_owned());
        let time = time_of(&text).filter(|time| allowed.contains(time));
        time.ok_or_else(|| variable.refuse(&text))
    }

    pub(super) fn names(&self, variable: Variable) -> Result<Vec<String>, ConfigError> {
        let text = self.text(variable)?.unwrap_or_default();
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(names.map(str::to_ascii_lowercase).collect())
    }
}

impl Variable {
    pub(super) fn refuse(self, given: &str) -> ConfigError {
        // A slip in the file may have put a secret here.
        let is_shown = !self.is_secret && !is_of_file(self.name);
        let given = is_shown.then(|| given.chars().take(64).collect::<String>().escape_debug().to_string());
        ConfigError::Invalid { name: self.name, given, allowed: self.allowed }
    }
}

impl Variable {
    pub(super) const fn explained_in(self, page: &'static str) -> Self {
        Self { page: Some(page), ..self }
    }

    /// Declares that the value holds a secret, or may.
    pub(super) const fn secret(self) -> Self {
        Self { is_secret: true, ..self }
    }
}
