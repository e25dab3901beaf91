//! Operator settings.
//!
//! Settings come from environment variables. A file `.env` in the working directory supplies variables that are not
//! set. An invalid value stops the start with an error that names the variable and its allowed values.

mod connections;
mod environment;
mod execution;
mod git;
mod ledger;
mod links;
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

pub(crate) use connections::{ConnectionLimits, ConnectionSettings};
pub(crate) use environment::{
    SettingOrigin, authorities_named, is_supervised, load_dotenv, process_environment, proxies_set,
    settings_in_force, substituted_settings, unknown_settings,
};
pub(crate) use git::GitSettings;
pub(crate) use links::{AlertWebhookSettings, LinkSettings, TunnelSettings};
pub(crate) use reader::{ConfigError, Variable};
pub(crate) use settings::{LogFormat, SECTIONS, Settings, data_dir, zone_data_dir};
pub(crate) use sources::{ListsShrink, PartialSource, WhenNotReady};
pub(crate) use status_words::{StatusWordsFileError, read_status_words};
pub(crate) use words::words;
