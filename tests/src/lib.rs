//! The harness of the acceptance suites. It starts the real binary, calls it over HTTP, stops it and kills it.
//!
//! ```text
//!  binary ──▶ home (rules, data, environment) ──▶ service (process, log) ──▶ client, wire ──▶ answer
//! ```
//!
//! Module `crowd` opens many misbehaving connections at once, and `bystander` measures what others see of a load.
//!
//! These modules compare compiled rules with a plain interpreter:
//!
//! ```text
//!  generator ──scripts, transactions──▶ oracle, subject ──▶ the same answers
//! ```
//!
//! The suites themselves are the files of `tests/`. They use only the service's command line, environment, log and
//! responses. Only the comparison (`oracle`, `subject`) and the suite `fixture` use internals. Functions here panic
//! with the reason instead of returning errors.

pub mod answer;
pub mod audit;
pub mod authority;
pub mod binary;
pub mod bystander;
pub mod client;
pub mod control_group;
pub mod crowd;
pub mod demo;
pub mod durability;
pub mod faults;
pub mod generator;
pub mod git;
pub mod home;
pub mod interruption;
pub mod links;
pub mod log;
pub mod modules;
pub mod oracle;
pub mod partition;
pub mod played;
pub mod poll;
pub mod ports;
pub mod postgres;
pub mod process;
pub mod programs;
pub mod proof;
pub mod repository;
pub mod rule_names;
pub mod sample;
pub mod schemathesis;
pub mod seeded;
pub mod service;
mod set_on_drop;
pub mod status_sequences;
pub mod subject;
pub mod tampering;
pub mod toolchain;
pub mod volume;
pub mod wire;

pub use answer::Answer;
pub use authority::{Authority, Identity};
pub use client::Client;
pub use durability::DurabilityChecker;
pub use home::Home;
pub use postgres::Postgres;
pub use rule_names::RuleNames;
pub use service::{Refusal, Service};
pub use set_on_drop::SetOnDrop;
pub use toolchain::Toolchain;
pub use volume::Volume;
