//! Value types for payments, lists, instructions and verdicts.
//!
//! The crate reads, compares and writes transactions. It also has exact decimals, calendars, patterns, named lists and
//! sequence numbers. The same bytes give the same value on every machine.
//!
//! The crate has no history, rule execution, store or connection, and it reads no settings or environment variables.

pub mod alert;
pub mod assessment;
pub mod background;
pub mod calendar;
pub mod clock;
pub mod decimal;
pub mod hold;
pub mod instruction;
pub mod named_list;
pub mod pattern;
pub mod secret;
pub mod sequence;
pub mod transaction;
pub mod value_set;
