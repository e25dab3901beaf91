//! Operator settings.
//!
//! Settings come from environment variables. A file `.env` in the working directory supplies variables that are not
//! set. An invalid value stops the start with an error that names the variable and its allowed values.

mod connections;
mod environment;
mod execution;
mod git;
mod ledger;
mod ledger_settings;
mod links;
mod memory;
mod owners;
#[cfg(test)]
mod page;
mod reader;
mod requests;
mod settings;
mod sources;
mod status_words;
mod traces;
mod words;

pub use connections::{ConnectionLimits, ConnectionSettings};
pub use environment::{
    SettingOrigin, authorities_named, is_supervised, load_dotenv, process_environment, proxies_set,
    settings_in_force, substituted_settings, unknown_settings,
};
pub use git::GitSettings;
pub use ledger_settings::{
    LEDGER_FIELDS, LedgerIdentity, LedgerKind, LedgerSettings, LeftOutTreatment, UnreadableVerdict,
};
pub use links::{AlertWebhookSettings, LinkSettings, TunnelSettings};
pub use reader::{ConfigError, Variable};
pub use settings::{LogFormat, SECTIONS, Settings, data_dir, zone_data_dir};
pub use sources::{ListsShrink, PartialSource, WhenNotReady};
pub use status_words::{StatusWordsFileError, read_status_words};
pub use words::words;
