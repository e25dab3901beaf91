//! What the operator decides.
//!
//! Settings come from environment variables; a file `.env` in the working directory fills in those that are not set. A
//! value that cannot be used stops the start, with the variable's name and what it takes.

mod environment;
mod git;
mod links;
mod secret;
mod settings;

pub use environment::{load_dotenv, process_environment};
pub use git::{GitSettings, is_branch};
pub use links::{AlertWebhookSettings, LinkSettings, TunnelSettings};
pub use secret::Secret;
pub use settings::{ConfigError, LogFormat, Settings, VARIABLES, Variable};
