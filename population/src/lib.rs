//! A made-up population, for tests, benches and the demo: honest customers and criminals, and the payments they make.
//!
//! ```text
//!  seed ─▶ cast (people, shops, employers) ─┬─▶ honest:   what each of them does on a day ──┐
//!                                           └─▶ criminal: stories hidden among them ────────┴─▶ payments of a day
//! ```
//!
//! Everything follows from the seed and the day. No part of it knows a rule.

mod amount;
mod cast;
pub mod context;
pub mod criminal;
pub mod dice;
pub mod honest;
mod payment;
mod population;

pub use amount::{Amount, decimals};
pub use cast::{Card, Cast, Customer, Device, Merchant};
pub use payment::{Metadata, Outcome, Payment};
pub use population::{DAYS, Population};
