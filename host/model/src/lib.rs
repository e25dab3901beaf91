//! Payments, lists, instructions and verdicts, as values.
//!
//! Values and the rules that hold for them: how a transaction is read, compared and written, exact decimals, calendars, patterns, named
//! lists, the numbers of the log. It promises that the same bytes give the same value on every machine.
//!
//! It knows no history, no rule that runs, no store and no connection. It reads no setting and no variable of the environment.

pub mod alert;
pub mod assessment;
pub mod background;
pub mod calendar;
pub mod clock;
pub mod decimal;
pub mod instruction;
pub mod ledger_kind;
pub mod named_list;
pub mod pattern;
pub mod secret;
pub mod sequence;
pub mod transaction;
pub mod value_set;
