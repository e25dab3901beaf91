//! Limits on requests.

/// The limits on requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSettings {
    /// Identifiers that a new request may contain.
    pub identifiers: Identifiers,
    /// Maximum number of keys per object of a transaction.
    pub object_keys_max: usize,
}

/// The identifiers that a new request may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Identifiers {
    /// Identifiers that a reader can distinguish.
    #[default]
    Clear,
    /// Any identifiers without control characters, including those that reorder text.
    AsSent,
}

impl Default for RequestSettings {
    fn default() -> Self {
        Self { identifiers: Identifiers::default(), object_keys_max: OBJECT_KEYS_DEFAULT }
    }
}

/// The default maximum number of keys per object.
pub const OBJECT_KEYS_DEFAULT: usize = 1_024;
