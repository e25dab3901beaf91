//! The setting of words that payments have as currencies.

use std::collections::BTreeSet;

use super::reader::{ConfigError, SettingsReader, Variable, variable};

pub(super) const CURRENCIES: Variable = variable(
    "SERVICE_CURRENCIES",
    "words, separated by commas, such as USDT,points",
    "none",
    "Words that payments have as `currency` besides the codes of ISO 4217. A rule that names any other word gets a warning.",
)
.explained_in("diagnostics.md");

/// Reads the words alone, in lower case.
///
/// # Errors
/// Returns an error if the variable is not valid text.
pub(crate) fn currencies(
    environment: impl Fn(&'static str) -> Result<Option<String>, ConfigError>,
) -> Result<BTreeSet<String>, ConfigError> {
    read(&SettingsReader { environment })
}

pub(super) fn read<E>(read: &SettingsReader<E>) -> Result<BTreeSet<String>, ConfigError>
where
    E: Fn(&'static str) -> Result<Option<String>, ConfigError>,
{
    Ok(read.names(CURRENCIES)?.into_iter().collect())
}
