//! What was told of the status of a transaction, where a ledger tells when it changed.
//!
//! A ledger that tries a payment again under one id tells `failed` and later `applied`. By stages alone the `failed` would stand for
//! ever. Where each piece of news says when the ledger changed the payment (`updated_at`), the latest change stands, and of one
//! change the furthest status. News without it counts by its stage, against what stands. Both parts are the maximum of a total order,
//! so what stands in the end depends neither on the order in which news arrives nor on how often.

use std::sync::Arc;

use tollgate_guest_abi::Semantics;

use crate::transaction::left_out::is_zero_time;
use crate::transaction::status::{StatusStage, further};
use crate::transaction::{Json, StatedTime, Transaction};

/// The member of a transaction that says when the ledger changed it.
pub const CHANGED_FIELD: &str = "updated_at";

/// What was told of a status, with and without the time of the change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportedStatus {
    /// What was told of the latest change.
    pub latest: Option<DatedStatus>,
    /// The furthest of what was told without a time.
    pub undated: Option<Arc<str>>,
}

/// A status with its change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatedStatus {
    /// When the ledger changed it: in microseconds since 1970 UTC, or as a version of the row; greater is later.
    pub changed: i64,
    /// What it was from then on.
    pub status: Arc<str>,
}

impl DatedStatus {
    fn rank(&self) -> (i64, StatusStage, &str) {
        (self.changed, StatusStage::of(&self.status), &self.status)
    }
}

impl ReportedStatus {
    /// What a transaction tells of itself.
    #[must_use]
    pub fn of(transaction: &Transaction) -> Self {
        Self::default().with(transaction.status.as_deref(), transaction.changed())
    }

    /// The status that stands: the further of the two.
    #[must_use]
    pub fn status(&self) -> Option<&str> {
        further(self.latest.as_ref().map(|latest| &*latest.status), self.undated.as_deref())
    }

    /// The same, when this was told as well. No status tells nothing.
    #[must_use]
    pub fn with(&self, status: Option<&str>, changed: Option<i64>) -> Self {
        let Some(status) = status else { return self.clone() };
        match changed {
            Some(changed) => {
                let told = DatedStatus { changed, status: status.into() };
                let is_latest = self.latest.as_ref().is_none_or(|latest| latest.rank() < told.rank());
                let latest = if is_latest { Some(told) } else { self.latest.clone() };
                Self { latest, undated: self.undated.clone() }
            }
            None => {
                let undated = further(self.undated.as_deref(), Some(status)).map(Arc::from);
                Self { latest: self.latest.clone(), undated }
            }
        }
    }
}

impl Transaction {
    /// When the ledger changed it, as its `updated_at` says: a time as metadata may state one, or a whole number, which is a version of
    /// the row. `None` where it says nothing of the kind, and of the year 1.
    #[must_use]
    pub fn changed(&self) -> Option<i64> {
        let (_, told) = self.unnamed.iter().find(|(name, _)| **name == *CHANGED_FIELD)?;
        match told {
            Json::Text(text) if is_zero_time(text) => None,
            Json::Text(text) => StatedTime::read(text, Semantics::CURRENT).map(StatedTime::start),
            Json::Number(number) => number.value().to_string().parse().ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::*;

    type Reported<'t> = (Option<&'t str>, Option<i64>);

    /// What stands is the same whatever the order.
    #[track_caller]
    fn check(told: &[Reported<'_>], expected: Option<&str>) {
        let hear =
            |standing: ReportedStatus, (status, changed): &Reported<'_>| standing.with(*status, *changed);
        let forwards = told.iter().fold(ReportedStatus::default(), hear);
        let backwards = told.iter().rev().chain(told).fold(ReportedStatus::default(), hear);
        assert_eq!(forwards, backwards, "{told:?}");
        assert_eq!(forwards.status(), expected, "{told:?}");
    }

    #[test]
    fn the_latest_change_stands_and_of_one_change_the_furthest_status() {
        check(&[(Some("failed"), Some(1)), (Some("applied"), Some(2))], Some("applied"));
        check(
            &[(Some("applied"), Some(1)), (Some("void"), Some(2)), (Some("pending"), Some(3))],
            Some("pending"),
        );
        check(&[(Some("pending"), Some(2)), (Some("applied"), Some(2))], Some("applied"));
        check(&[(Some("applied"), Some(2)), (None, Some(3))], Some("applied"));
    }

    #[test]
    fn what_is_told_without_a_change_counts_by_its_stage() {
        check(&[(Some("failed"), None), (Some("applied"), None)], Some("failed"));
        check(
            &[(Some("pending"), None), (Some("failed"), Some(1)), (Some("applied"), Some(2))],
            Some("applied"),
        );
        check(&[(Some("applied"), Some(2)), (Some("void"), None)], Some("void"));
        check(
            &[(Some("failed"), None), (Some("failed"), Some(1)), (Some("applied"), Some(2))],
            Some("failed"),
        );
        check(&[(None, None)], None);
    }

    #[test]
    fn a_change_is_a_time_or_the_version_of_a_row() {
        for (told, expected) in [
            (r#""1970-01-01T00:00:01.5Z""#, Some(1_500_000)),
            (r#""1970-01-01T02:00:01.5+02:00""#, Some(1_500_000)),
            (r#""1970-01-01 00:00:01.5""#, Some(1_500_000)),
            (r#""0001-01-01T00:00:00Z""#, None),
            (r#""0001-01-01T01:00:00+01:00""#, None),
            ("7", Some(7)),
            ("7.5", None),
            (r#""7""#, None),
            ("null", None),
            ("99999999999999999999", None),
        ] {
            let body =
                format!(r#"{{"amount": 1, "currency": "EUR", "reference": "r", "updated_at": {told}}}"#);
            let (transaction, _) = Transaction::parse(body.as_bytes(), DateTime::UNIX_EPOCH).unwrap();
            assert_eq!(transaction.changed(), expected, "{told}");
        }
    }

    fn told() -> impl Strategy<Value = (Option<&'static str>, Option<i64>)> {
        let words = vec!["pending", "applied", "APPLIED", "failed", "void", "on the desk"];
        (prop::option::of(prop::sample::select(words)), prop::option::of(0..4_i64))
    }

    proptest! {
        #[test]
        fn what_stands_depends_on_neither_order_nor_repetition(
            (heard, shuffled) in prop::collection::vec(told(), 1..8).prop_flat_map(|heard| {
                let twice = [heard.clone(), heard.clone()].concat();
                (Just(heard), Just(twice).prop_shuffle())
            })
        ) {
            let stands = |heard: &[Reported<'_>]| {
                heard.iter().fold(ReportedStatus::default(), |standing, (status, changed)| standing.with(*status, *changed))
            };
            prop_assert_eq!(stands(&heard), stands(&shuffled));
        }
    }
}
