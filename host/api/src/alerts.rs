//! Alerts that no webhook accepted.

pub(super) mod dead_letters;
pub(super) mod replay;
