//! Transactions over HTTP.

pub(super) mod batch;
pub(super) mod get;
pub(super) mod inject;
pub(super) mod replay;
pub(super) mod status_updates;
