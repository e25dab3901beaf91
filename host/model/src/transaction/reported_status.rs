//! The reported status of a transaction, for ledgers that report when it changed.
//!
//! A ledger may retry a payment under the same id and report `failed`, then `applied`. By stage alone, `failed` would
//! win forever. With change times (`updated_at`) the latest change wins, and among reports of one change the furthest
//! status. A report without a change time competes by stage with the current status. Both parts are the maximum of a
//! total order, so the result depends neither on the order nor on the number of reports.

use std::sync::Arc;

use tollgate_guest_abi::Semantics;

use crate::transaction::left_out::is_zero_time;
use crate::transaction::{EarlierStatuses, Json, StatedTime, StatusWords, Transaction};

/// The field with the time of the last change in the ledger.
pub const CHANGED_FIELD: &str = "updated_at";

/// The status reported so far, with and without change times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportedStatus {
    /// Status of the latest change.
    pub latest: Option<DatedStatus>,
    /// Furthest status reported without a change time.
    pub undated: Option<Arc<str>>,
}

/// A status with its change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatedStatus {
    /// Time of the change in microseconds since 1970 UTC, or version of the row; greater is later.
    pub changed: i64,
    /// Status after the change.
    pub status: Arc<str>,
}

impl ReportedStatus {
    /// Returns the status that a transaction reports.
    #[must_use]
    pub fn from_transaction(transaction: &Transaction) -> Self {
        // Any status is further than none, whatever its rank.
        let earlier = EarlierStatuses::new(&StatusWords::built_in(), []);
        Self::default().with(transaction.status.as_deref(), transaction.changed(), &earlier)
    }

    /// Returns the current status: the further of the two.
    #[must_use]
    pub fn status(&self, earlier: &EarlierStatuses) -> Option<&str> {
        earlier.further(self.undated.as_deref(), self.latest.as_ref().map(|latest| &*latest.status))
    }

    /// Returns the statuses of which one is the current one.
    pub fn statuses(&self) -> impl Iterator<Item = &str> {
        self.latest.iter().map(|latest| &*latest.status).chain(self.undated.as_deref())
    }

    /// Adds a report. A report without a status has no effect.
    #[must_use]
    pub fn with(&self, status: Option<&str>, changed: Option<i64>, earlier: &EarlierStatuses) -> Self {
        let Some(status) = status else { return self.clone() };
        match changed {
            Some(changed) => {
                let is_latest = self.latest.as_ref().is_none_or(|latest| {
                    (latest.changed, earlier.rank(&latest.status)) < (changed, earlier.rank(status))
                });
                let dated = || DatedStatus { changed, status: status.into() };
                let latest = if is_latest { Some(dated()) } else { self.latest.clone() };
                Self { latest, undated: self.undated.clone() }
            }
            None => {
                let undated = earlier.further(self.undated.as_deref(), Some(status)).map(Arc::from);
                Self { latest: self.latest.clone(), undated }
            }
        }
    }
}

impl Transaction {
    /// Returns when the ledger changed the transaction, from `updated_at`: a time as in metadata, or an integer row
    /// version. Returns `None` for any other value and for the zero time of year 1.
    #[must_use]
    pub fn changed(&self) -> Option<i64> {
        let (_, changed) = self.unnamed.iter().find(|(name, _)| **name == *CHANGED_FIELD)?;
        match changed {
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

    /// Words of the table rank alike whatever was reported before.
    fn listed_only() -> EarlierStatuses {
        EarlierStatuses::new(&StatusWords::built_in(), [])
    }

    type Reported<'t> = (Option<&'t str>, Option<i64>);

    /// Checks that the order of reports does not affect the result.
    #[track_caller]
    fn check(reports: &[Reported<'_>], expected: Option<&str>) {
        let add_report = |current: ReportedStatus, (status, changed): &Reported<'_>| {
            current.with(*status, *changed, &listed_only())
        };
        let forwards = reports.iter().fold(ReportedStatus::default(), add_report);
        let backwards = reports.iter().rev().chain(reports).fold(ReportedStatus::default(), add_report);
        assert_eq!(forwards, backwards, "{reports:?}");
        assert_eq!(forwards.status(&listed_only()), expected, "{reports:?}");
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
    fn a_status_without_a_time_ranks_by_stage() {
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
        for (reports, expected) in [
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
                format!(r#"{{"amount": 1, "currency": "EUR", "reference": "r", "updated_at": {reports}}}"#);
            let (transaction, _) = Transaction::parse(body.as_bytes(), DateTime::UNIX_EPOCH).unwrap();
            assert_eq!(transaction.changed(), expected, "{reports}");
        }
    }

    fn arbitrary_report() -> impl Strategy<Value = (Option<&'static str>, Option<i64>)> {
        let words = vec!["pending", "applied", "APPLIED", "failed", "void", "captured"];
        (prop::option::of(prop::sample::select(words)), prop::option::of(0..4_i64))
    }

    proptest! {
        #[test]
        fn the_reported_status_depends_on_neither_order_nor_repetition(
            (reports, shuffled) in prop::collection::vec(arbitrary_report(), 1..8).prop_flat_map(|reports| {
                let twice = [reports.clone(), reports.clone()].concat();
                (Just(reports), Just(twice).prop_shuffle())
            })
        ) {
            let result_of = |reports: &[Reported<'_>]| {
                reports.iter().fold(ReportedStatus::default(), |current, (status, changed)| current.with(*status, *changed, &listed_only()))
            };
            prop_assert_eq!(result_of(&reports), result_of(&shuffled));
        }
    }
}
