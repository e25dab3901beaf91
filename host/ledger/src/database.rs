//! Read access to a ledger in PostgreSQL. No other module connects to one.
//!
//! ```text
//!  address ─▶ connection: read-only, with a time limit ─▶ table: checks columns and their types
//!                   ├─▶ horizon: time up to which every row is committed
//!                   └─▶ page: rows after a position ─▶ row ─▶ a transaction, or an error
//! ```
//!
//! Row contents are untrusted: values are sent only as parameters, and names from the settings are quoted. A row that
//! is not a transaction, or that the database cannot display, is an ordinary result.

mod address;
mod blnk;
mod connection;
mod error;
mod horizon;
mod page;
mod row;
mod session;
mod table;

pub use address::Ledger;
pub use connection::LedgerConnection;
pub use error::LedgerError;
pub use horizon::Horizon;
pub use page::{PagePosition, micros_of};
pub use row::{LedgerRow, RowError};
