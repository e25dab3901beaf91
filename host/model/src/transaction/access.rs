//! Resolved paths: hot paths read a field by an enum value instead of by name.

use std::sync::Arc;

use tollgate_guest_abi::{FieldPath, FieldType, Semantics};

use crate::transaction::{CaselessText, Json, StatusWords, TextComparison, Transaction, Value};

/// A resolved path to a value in a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldAccess(FieldGetter);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FieldGetter {
    Named(NamedField),
    /// A named field whose text is [`Value::Caseless`].
    Caseless(NamedField, TextComparison),
    /// The stage that the status means in a table.
    Stage(Arc<StatusWords>),
    /// The keys below `metadata`.
    Metadata(Box<[String]>),
    /// A path to an unknown field.
    Nowhere,
}

/// The fields other than metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum NamedField {
    TransactionId,
    Amount,
    Currency,
    Source,
    Destination,
    Reference,
    Description,
    Status,
    Hash,
    AllowOverdraft,
    Inflight,
    SkipQueue,
    Atomic,
    Timestamp,
    EffectiveDate,
    ScheduledFor,
    InflightExpiryDate,
}

impl FieldAccess {
    /// Resolves a path for rules of these semantics, with the table by which `stage` is read.
    #[must_use]
    pub fn bind(path: &FieldPath, semantics: Semantics, words: &Arc<StatusWords>) -> Self {
        if path.is_stage() && semantics.has_stage() {
            return Self(FieldGetter::Stage(Arc::clone(words)));
        }
        Self(match (path.metadata_keys(), NamedField::of_path(path)) {
            (Some(keys), _) => FieldGetter::Metadata(keys.into()),
            (None, Some(named @ NamedField::Status)) if semantics.is_caseless_in_status() => {
                FieldGetter::Caseless(named, TextComparison::Caseless)
            }
            (None, Some(named @ NamedField::Currency)) if semantics.is_caseless_in_currency() => {
                FieldGetter::Caseless(named, TextComparison::CaselessTrimmed)
            }
            (None, Some(named)) => FieldGetter::Named(named),
            (None, None) => FieldGetter::Nowhere,
        })
    }

    /// Returns the value at the path, or [`Value::Missing`] for an unknown field.
    #[must_use]
    #[inline]
    pub fn read<'t>(&self, transaction: &'t Transaction) -> Value<'t> {
        match &self.0 {
            FieldGetter::Named(named) => named.read(transaction),
            FieldGetter::Caseless(named, how) => named.read_compared(transaction, *how),
            FieldGetter::Stage(words) => transaction.stage(words),
            FieldGetter::Metadata(keys) => transaction.metadata_value(keys),
            FieldGetter::Nowhere => Value::Missing,
        }
    }

    /// As [`FieldAccess::read`]. Also returns the number of keys of the objects on the path.
    #[must_use]
    #[inline]
    pub fn read_counted<'t>(&self, transaction: &'t Transaction) -> (Value<'t>, usize) {
        match &self.0 {
            FieldGetter::Metadata(keys) => {
                let (found, n_keys) = transaction.metadata_at(keys);
                (Value::of_json(found), n_keys)
            }
            FieldGetter::Named(named) => (named.read(transaction), 0),
            FieldGetter::Caseless(named, how) => (named.read_compared(transaction, *how), 0),
            FieldGetter::Stage(words) => (transaction.stage(words), 0),
            FieldGetter::Nowhere => (Value::Missing, 0),
        }
    }

    /// Returns the number of keys of the objects on the path.
    #[must_use]
    #[inline]
    pub fn n_keys(&self, transaction: &Transaction) -> usize {
        match (&self.0, &transaction.metadata) {
            (FieldGetter::Metadata(keys), Some(Json::Object(entries))) if keys.len() == 1 => entries.len(),
            (FieldGetter::Metadata(keys), Some(_)) => transaction.metadata_at(keys).1,
            _ => 0,
        }
    }

    /// Returns whether the path is the amount.
    #[must_use]
    pub const fn is_amount(&self) -> bool {
        matches!(self.0, FieldGetter::Named(NamedField::Amount))
    }

    /// Returns whether the text of the field is [`Value::Caseless`].
    #[must_use]
    pub const fn is_caseless(&self) -> bool {
        matches!(self.0, FieldGetter::Caseless(..) | FieldGetter::Stage(_))
    }

    /// Returns how the text of the field compares.
    #[must_use]
    pub const fn text_comparison(&self) -> TextComparison {
        match self.0 {
            FieldGetter::Caseless(_, how) => how,
            FieldGetter::Stage(_) => TextComparison::Caseless,
            FieldGetter::Named(_) | FieldGetter::Metadata(_) | FieldGetter::Nowhere => TextComparison::Exact,
        }
    }
}

impl Transaction {
    /// Returns the value at a path as it was sent, or [`Value::Missing`] for an unknown field. Bind a [`FieldAccess`]
    /// for repeated reads.
    #[must_use]
    pub fn value(&self, path: &FieldPath) -> Value<'_> {
        match path.metadata_keys() {
            Some(keys) => self.metadata_value(keys),
            None => NamedField::of_path(path).map_or(Value::Missing, |named| named.read(self)),
        }
    }

    // A call: what is inlined into a loop over fields makes every turn of it slower.
    #[inline(never)]
    fn metadata_value(&self, keys: &[String]) -> Value<'_> {
        Value::of_json(self.metadata_at(keys).0)
    }

    /// Returns the stage that the status means, or [`Value::Missing`] without a status.
    #[inline(never)]
    fn stage(&self, words: &StatusWords) -> Value<'_> {
        let stage = |status| Value::Caseless(CaselessText::whole(words.stage_of(status)));
        self.status.as_deref().map_or(Value::Missing, stage)
    }
}

impl NamedField {
    fn of_path(path: &FieldPath) -> Option<Self> {
        if path.field_type() == FieldType::Unknown {
            return None;
        }
        Some(match path.root() {
            "transaction_id" => NamedField::TransactionId,
            "amount" => NamedField::Amount,
            "currency" => NamedField::Currency,
            "source" => NamedField::Source,
            "destination" => NamedField::Destination,
            "reference" => NamedField::Reference,
            "description" => NamedField::Description,
            "status" => NamedField::Status,
            "hash" => NamedField::Hash,
            "allow_overdraft" => NamedField::AllowOverdraft,
            "inflight" => NamedField::Inflight,
            "skip_queue" => NamedField::SkipQueue,
            "atomic" => NamedField::Atomic,
            "timestamp" => NamedField::Timestamp,
            "effective_date" => NamedField::EffectiveDate,
            "scheduled_for" => NamedField::ScheduledFor,
            "inflight_expiry_date" => NamedField::InflightExpiryDate,
            _ => return None,
        })
    }

    // If this were inlined into a loop over fields, the loop would fetch every field up front.
    #[inline(never)]
    fn read(self, of: &Transaction) -> Value<'_> {
        match self {
            NamedField::TransactionId => Value::Text(&of.transaction_id),
            NamedField::Amount => Value::Number(of.amount.value()),
            NamedField::Currency => Value::Text(&of.currency),
            NamedField::Source => Value::of_text(of.source.as_deref()),
            NamedField::Destination => Value::of_text(of.destination.as_deref()),
            NamedField::Reference => Value::Text(&of.reference),
            NamedField::Description => Value::of_text(of.description.as_deref()),
            NamedField::Status => Value::of_text(of.status.as_deref()),
            NamedField::Hash => Value::of_text(of.hash.as_deref()),
            NamedField::AllowOverdraft => Value::Boolean(of.allow_overdraft),
            NamedField::Inflight => Value::Boolean(of.inflight),
            NamedField::SkipQueue => Value::Boolean(of.skip_queue),
            NamedField::Atomic => Value::Boolean(of.atomic),
            NamedField::Timestamp => Value::Time(&of.timestamp),
            NamedField::EffectiveDate => Value::of_time(of.effective_date.as_ref()),
            NamedField::ScheduledFor => Value::of_time(of.scheduled_for.as_ref()),
            NamedField::InflightExpiryDate => Value::of_time(of.inflight_expiry_date.as_ref()),
        }
    }

    #[inline(never)]
    fn read_compared(self, of: &Transaction, how: TextComparison) -> Value<'_> {
        self.read(of).compared(how)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    /// A body with every field set; the value of each text is the name of its field.
    const BODY: &str = r#"{"transaction_id": "transaction_id", "amount": 7.5, "currency": "currency", "source": "source",
        "destination": "destination", "reference": "reference", "description": "description", "status": "status",
        "hash": "hash", "allow_overdraft": true, "inflight": true, "skip_queue": true, "atomic": true,
        "created_at": "2026-01-01T00:00:00Z", "effective_date": "2026-01-02T00:00:00Z",
        "scheduled_for": "2026-01-03T00:00:00Z", "inflight_expiry_date": "2026-01-04T00:00:00Z",
        "meta_data": {"a": {"b": "metadata.a.b"}}}"#;

    #[test]
    fn every_named_field_is_reached_and_is_the_one_of_its_name() {
        let (transaction, _) = Transaction::parse(BODY.as_bytes(), DateTime::UNIX_EPOCH).unwrap();
        let mut n_texts = 0;
        let is_sent = |name: &&str| !["metadata", "stage"].contains(name);
        for name in FieldPath::names().filter(is_sent).chain(["metadata.a.b"]) {
            let access = FieldAccess::bind(&FieldPath::parse(name), Semantics::V2, &StatusWords::built_in());
            match access.read(&transaction) {
                Value::Missing => panic!("`{name}` is not reached"),
                Value::Text(text) => {
                    assert_eq!(text, name);
                    n_texts += 1;
                }
                Value::Number(_) => assert_eq!(name, "amount"),
                Value::Boolean(set) => assert!(set),
                Value::Time(time) => {
                    let days = ["timestamp", "effective_date", "scheduled_for", "inflight_expiry_date"];
                    let day = days.iter().position(|day| *day == name).unwrap() + 1;
                    assert_eq!(time.as_str(), format!("2026-01-0{day}T00:00:00Z"));
                }
                Value::Caseless(_) | Value::List(_) | Value::Object(_) => panic!("`{name}`: {access:?}"),
            }
            assert_eq!(access.is_amount(), name == "amount");
        }
        assert_eq!(n_texts, 9);
    }

    #[test]
    fn the_status_is_caseless_since_semantics_3_and_the_currency_since_5() {
        let (transaction, _) = Transaction::parse(BODY.as_bytes(), DateTime::UNIX_EPOCH).unwrap();
        for (semantics, caseless) in [
            (Semantics::V2, &[][..]),
            (Semantics::V3, &["status"]),
            (Semantics::V4, &["status"]),
            (Semantics::V5, &["currency", "status"]),
        ] {
            for name in FieldPath::names().filter(|name| *name != "stage") {
                let access = FieldAccess::bind(&FieldPath::parse(name), semantics, &StatusWords::built_in());
                let is_caseless =
                    matches!(access.read(&transaction), Value::Caseless(text) if text.compared == name);
                let expected = caseless.contains(&name);
                assert_eq!((is_caseless, access.is_caseless()), (expected, expected), "{name}");
            }
        }
    }

    #[test]
    fn a_currency_compares_without_the_blanks_at_its_ends_and_keeps_them() {
        let body = r#"{"transaction_id": "t", "amount": 1, "currency": "\u00a0usd ", "reference": "r"}"#;
        let json = Json::parse(body.as_bytes(), crate::transaction::JsonLimits::ENVELOPE).unwrap();
        let (transaction, _) = Transaction::from_json(json, DateTime::UNIX_EPOCH).unwrap();
        let access =
            FieldAccess::bind(&FieldPath::parse("currency"), Semantics::V5, &StatusWords::built_in());
        let Value::Caseless(text) = access.read(&transaction) else { panic!("{access:?}") };
        assert_eq!((text.compared, text.sent), ("usd", "\u{a0}usd "));
    }

    #[test]
    fn the_stage_is_that_of_the_status_since_semantics_5() {
        let (transaction, _) = Transaction::parse(BODY.as_bytes(), DateTime::UNIX_EPOCH).unwrap();
        for (semantics, status, expected) in [
            (Semantics::V4, Some("captured"), None),
            (Semantics::V5, Some("captured"), Some("settled")),
            (Semantics::V5, Some("on the desk"), Some("other")),
            (Semantics::V5, None, None),
        ] {
            let access = FieldAccess::bind(&FieldPath::parse("stage"), semantics, &StatusWords::built_in());
            let transaction = transaction.with_status(status);
            assert_eq!(access.read(&transaction).as_text(), expected, "{status:?}");
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_reads_nothing() {
        let (transaction, _) = Transaction::parse(BODY.as_bytes(), DateTime::UNIX_EPOCH).unwrap();
        for path in ["amount.value", "unheard_of", "metadata.x", "metadata.a.b.c"] {
            let path = FieldPath::parse(path);
            let access = FieldAccess::bind(&path, Semantics::CURRENT, &StatusWords::built_in());
            assert!(access.read(&transaction).is_missing(), "{path}");
            assert!(transaction.value(&path).is_missing(), "{path}");
        }
    }
}
