//! Schemas of bodies that no type of the service has.
//!
//! Transactions are parsed by hand, strictly, and returned with the digits as received. Lists and modules are plain
//! texts and bytes. Tests compare these schemas with real bodies.

mod transactions;

use serde::Serialize;
use utoipa::ToSchema;

pub(crate) use transactions::{Amount, StoredTransaction, Transaction, WebhookEnvelope};

/// An entry of a list, unchanged.
#[derive(Serialize, ToSchema)]
#[schema(min_length = 1, max_length = 1024)]
pub(crate) struct ListEntry(String);

/// A WebAssembly module, at most 65,536 bytes.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, format = Binary)]
pub(crate) struct WasmModule(Vec<u8>);
