//! Anchors: what leaves memory together.
//!
//! Each series with keys has one of its key fields as its *anchor field*. All keys, of all series, with the same value in
//! their anchor field make one anchor: a payer with all that rules ask about the payer. An anchor leaves memory as one
//! record and comes back as one, so that a payment waits for a few reads, however many series there are. No answer depends
//! on the choice of the field.
//!
//! Keys of one series that may be equal belong to the same anchor: a number and the texts that are this number, and texts
//! that differ in the case of ASCII letters. Two anchors with the same hash are taken for one, which costs time and
//! nothing else: a record holds whole keys.

use tollgate_guest_abi::FieldPath;
use xxhash_rust::xxh3::xxh3_64;

use crate::key::part_hash;

/// A value of an anchor field, by its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Anchor {
    pub(super) domain: AnchorDomain,
    pub(super) hash: u64,
}

/// Fields whose values are the same things, such as accounts as payers and as payees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct AnchorDomain(u64);

/// The anchor field of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnchorField {
    pub(super) domain: AnchorDomain,
    /// Its place among the key fields.
    place: usize,
}

/// Fields of accounts.
const ACCOUNTS: [&str; 2] = ["source", "destination"];
/// Fields with few values, of which each would be an anchor with much of all transactions.
const FEW_VALUED: [&str; 6] = ["currency", "status", "stage", "type", "precision", "description"];
/// Words of the names of fields whose values identify somebody or something.
const IDENTIFYING: [&str; 12] = [
    "id",
    "account",
    "card",
    "customer",
    "device",
    "email",
    "fingerprint",
    "hash",
    "iban",
    "ip",
    "merchant",
    "phone",
];

impl AnchorField {
    /// Returns the anchor field of a series with these key fields; `None` when none has many values.
    pub(super) fn of(fields: &[FieldPath]) -> Option<Self> {
        let names: Vec<String> = fields.iter().map(ToString::to_string).collect();
        let rank = |name: &str| {
            let account = ACCOUNTS.iter().position(|account| *account == name);
            let words = |name: &str| name.to_ascii_lowercase();
            match account {
                Some(rank) => rank,
                None if FEW_VALUED.contains(&name) => usize::MAX,
                None if words(name).split(['.', '_']).any(|word| IDENTIFYING.contains(&word)) => 2,
                None => 3,
            }
        };
        let (place, name) = names.iter().enumerate().min_by_key(|(_, name)| rank(name))?;
        let is_account = ACCOUNTS.contains(&name.as_str());
        let domain = AnchorDomain(xxh3_64(if is_account { "source" } else { name }.as_bytes()));
        (rank(name) < usize::MAX).then_some(Self { domain, place })
    }

    /// Returns the anchor of a key of the series.
    pub(super) fn anchor_of(self, key: &[u8]) -> Option<Anchor> {
        let hash = part_hash(key, self.place, self.domain.0)?;
        Some(Anchor { domain: self.domain, hash })
    }

    /// Returns the anchor of a key that consists of the anchor field alone.
    pub(super) fn anchor_of_value(self, key: &[u8]) -> Option<Anchor> {
        Self { place: 0, ..self }.anchor_of(key)
    }

    pub(super) const fn place(self) -> usize {
        self.place
    }
}
