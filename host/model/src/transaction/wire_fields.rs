//! The fields of a transaction in the interface, and their kinds.

/// The kind of values that a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireKind {
    /// A short id of a transaction or an account.
    Id,
    /// A short code without control characters.
    Code,
    /// A text for people.
    Prose,
    /// A number, or a text with its digits.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A date-time in RFC 3339.
    Time,
    /// An object of any members.
    Object,
}

/// Every field, in the order in which it is stored.
pub(super) const FIELDS: [&str; 18] = [
    "transaction_id",
    "amount",
    "currency",
    "source",
    "destination",
    "reference",
    "description",
    "status",
    "hash",
    "allow_overdraft",
    "inflight",
    "skip_queue",
    "atomic",
    "created_at",
    "effective_date",
    "scheduled_for",
    "inflight_expiry_date",
    "meta_data",
];

/// Returns the kind of a field, or `None` if it is not part of the interface.
#[must_use]
pub fn kind_of(name: &str) -> Option<WireKind> {
    match name {
        "transaction_id" | "source" | "destination" => Some(WireKind::Id),
        "currency" | "status" | "hash" => Some(WireKind::Code),
        "reference" | "description" => Some(WireKind::Prose),
        "amount" => Some(WireKind::Number),
        "allow_overdraft" | "inflight" | "skip_queue" | "atomic" => Some(WireKind::Boolean),
        "created_at" | "effective_date" | "scheduled_for" | "inflight_expiry_date" => Some(WireKind::Time),
        "meta_data" => Some(WireKind::Object),
        _ => None,
    }
}
