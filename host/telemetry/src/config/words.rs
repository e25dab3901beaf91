//! Settings of the words that payments have as currencies and statuses.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::reader::{ConfigError, SettingsReader, Variable, variable};

pub(super) const CURRENCIES: Variable = variable(
    "SERVICE_CURRENCIES",
    "words, separated by commas, such as USDT,points",
    "none",
    "Words that payments have as `currency` besides the codes of ISO 4217. A rule that names any other word gets a warning.",
)
.explained_in("diagnostics.md");
pub(super) const STATUS_WORDS: Variable = variable(
    "SERVICE_STATUS_WORDS",
    "a file of lines such as `paid = settled`",
    "none: the built-in table",
    "File of status words with their stages, which add to the built-in table and override it. Its content is part of the rule-set version.",
)
.explained_in("ledger.md#words-of-your-own");

/// Words of the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordSettings {
    /// Words of currencies besides those of ISO 4217, in lower case.
    pub currencies: BTreeSet<String>,
    /// File of status words with their stages.
    pub status_words: Option<PathBuf>,
}

impl WordSettings {
    pub(super) fn read<E>(read: &SettingsReader<E>) -> Result<Self, ConfigError>
    where
        E: Fn(&'static str) -> Result<Option<String>, ConfigError>,
    {
        let currencies = read.names(CURRENCIES)?.into_iter().collect();
        Ok(Self { currencies, status_words: read.text(STATUS_WORDS)?.map(PathBuf::from) })
    }
}

/// Reads the words alone.
///
/// # Errors
/// Returns an error if a variable is not valid text.
pub fn words(
    environment: impl Fn(&'static str) -> Result<Option<String>, ConfigError>,
) -> Result<WordSettings, ConfigError> {
    WordSettings::read(&SettingsReader { environment })
}
