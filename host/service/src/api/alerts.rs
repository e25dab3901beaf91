//! Alerts that no webhook took.

pub(super) mod dead_letters;
pub(super) mod replay;
