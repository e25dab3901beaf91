//! A ledger in PostgreSQL, to read from: the only room that speaks to it.
//!
//! ```text
//!  address ─▶ connection: read-only, with a time limit ─▶ table: are its columns there, of types that do
//!                   ├─▶ horizon: up to where every row is committed
//!                   └─▶ page: rows behind a place ─▶ row ─▶ a transaction, or why it is none
//! ```
//!
//! Whatever stands in a row is data: values go out as parameters alone, names of the settings are quoted, and a row that
//! is no transaction, or that the database itself cannot show, is a value like any other.

mod address;
mod blnk;
mod connection;
mod error;
mod horizon;
mod page;
mod row;
mod session;
mod settings;
mod table;

pub use address::Ledger;
pub use connection::LedgerConnection;
pub use error::LedgerError;
pub use horizon::Horizon;
pub use page::{PagePosition, micros_of};
pub use row::{LedgerRow, RowError};
pub use settings::{CHANGED_FIELD, LEDGER_FIELDS, LedgerSettings};
