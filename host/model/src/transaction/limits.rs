//! Limits of what a request may bring.

/// Limits of what requests may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSettings {
    /// Which identifiers a new request may bring.
    pub identifiers: Identifiers,
    /// Most keys of one object of a transaction.
    pub object_keys_max: usize,
}

/// Which identifiers a new request may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Identifiers {
    /// Those that can be told apart by looking at them.
    #[default]
    Clear,
    /// Any without characters that control the text around them.
    AsSent,
}

impl Default for RequestSettings {
    fn default() -> Self {
        Self { identifiers: Identifiers::default(), object_keys_max: OBJECT_KEYS_DEFAULT }
    }
}

/// Most keys of one object unless the operator says otherwise.
pub const OBJECT_KEYS_DEFAULT: usize = 1_024;
