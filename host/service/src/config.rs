//! What the operator decides.
//!
//! Settings come from environment variables; a file `.env` in the working directory fills in those that are not set. A
//! value that cannot be used stops the start, with the variable's name and what it takes.

mod connections;
mod environment;
mod execution;
mod git;
mod ledger;
mod links;
mod reader;
mod requests;
mod settings;

pub use connections::{ConnectionLimits, ConnectionSettings};
pub use environment::{authorities_named, is_supervised, load_dotenv, process_environment, proxies_set};
pub use git::GitSettings;
pub use links::{AlertWebhookSettings, LinkSettings, TunnelSettings};
pub use reader::{ConfigError, Variable};
pub use settings::{ListsShrink, LogFormat, Settings, VARIABLES, data_dir, zone_data_dir};
