//! Parts of a date-time, as the time functions of the language return them.
//!
//! Two callers share this module: host calls of rule modules, and filters on the history.

mod archive;
mod directory;
mod zone_data;
mod zones_named;

use chrono::{DateTime, Datelike, Timelike, Utc};
use tollgate_guest_abi::{FieldPath, FieldType, Semantics, TimeFunction, TimeSpec};

use crate::transaction::{StatedTime, Value};

pub use zone_data::{Zone, ZoneData, ZoneDataError};
pub use zones_named::{filter_names_a_zone, unknown_zone};

/// A [`TimeSpec`] with its zone resolved.
#[derive(Debug, Clone)]
pub struct TimePart {
    function: TimeFunction,
    zone: Option<Zone>,
    takes_text: bool,
    semantics: Semantics,
}

/// An unknown time zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown time zone `{0}`")]
pub struct UnknownZone(pub String);

impl TimePart {
    /// Resolves the zone of a spec in this data.
    ///
    /// # Errors
    /// If the data lacks the zone.
    pub fn bind(spec: &TimeSpec, zones: &ZoneData, semantics: Semantics) -> Result<Self, UnknownZone> {
        let zone = spec.zone.as_deref().map(|name| zones.zone(name)).transpose()?;
        Ok(Self { function: spec.function, zone, takes_text: takes_text(&spec.field), semantics })
    }

    /// Returns the part of a field value. The result is NaN unless the value is a date-time, or a metadata text that
    /// states a time. A text that states a day counts as its start.
    #[must_use]
    pub fn number_of(&self, value: Value<'_>) -> f64 {
        let micros = match value {
            Value::Text(_) | Value::Caseless(_) if !self.takes_text => None,
            value => value.as_time(self.semantics).map(StatedTime::start),
        };
        micros.map_or(f64::NAN, |micros| part(self.function, micros, self.zone.as_ref()))
    }
}

/// Returns whether texts are read as times. Only metadata texts are: a reference that resembles a date stays a
/// reference.
fn takes_text(field: &FieldPath) -> bool {
    field.field_type() == FieldType::Dynamic
}

/// Returns the part of an instant, in microseconds since 1970 UTC, in local time of the zone; UTC without one. Returns
/// NaN for an instant outside the calendar, some 260,000 years away.
#[must_use]
pub fn part(function: TimeFunction, micros: i64, zone: Option<&Zone>) -> f64 {
    let Some(utc) = DateTime::<Utc>::from_timestamp_micros(micros) else { return f64::NAN };
    match zone {
        None => part_of(function, &utc.naive_utc()),
        Some(zone) => part_of(function, &zone.local(utc)),
    }
}

fn part_of(function: TimeFunction, local: &(impl Datelike + Timelike)) -> f64 {
    match function {
        TimeFunction::HourOfDay => local.hour().into(),
        TimeFunction::DayOfWeek => local.weekday().num_days_from_sunday().into(),
        TimeFunction::DayOfMonth => local.day().into(),
        TimeFunction::DayOfYear => local.ordinal().into(),
        TimeFunction::MonthOfYear => local.month().into(),
        TimeFunction::WeekOfYear => local.iso_week().week().into(),
        TimeFunction::Year => local.year().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction::EventTime;

    /// `expected`: hour, weekday, day of month, day of year, month, week, year.
    #[track_caller]
    fn check(time: &str, zone_name: Option<&str>, expected: [i32; 7]) {
        let micros = EventTime::micros_of(time).unwrap();
        for data in [ZoneData::frozen(), ZoneData::built_in()] {
            let zone = zone_name.map(|name| data.zone(name).unwrap());
            let parts = TimeFunction::ALL.map(|function| part(function, micros, zone.as_ref()));
            assert_eq!(parts, expected.map(f64::from), "{time} {zone_name:?} {}", data.name());
        }
    }

    #[test]
    fn offsets_are_converted_to_utc() {
        check("2026-03-01T23:59:59Z", None, [23, 0, 1, 60, 3, 9, 2026]);
        check("2026-03-02T00:30:00+01:00", None, [23, 0, 1, 60, 3, 9, 2026]);
        check("2024-12-31T12:00:00-00:30", None, [12, 2, 31, 366, 12, 1, 2024]);
    }

    #[test]
    fn a_zone_moves_the_clock_and_minds_its_summer_time() {
        check("2026-03-01T23:30:00Z", Some("Africa/Lagos"), [0, 1, 2, 61, 3, 10, 2026]);
        check("2026-01-15T12:00:00Z", Some("Europe/Berlin"), [13, 4, 15, 15, 1, 3, 2026]);
        check("2026-07-15T12:00:00Z", Some("Europe/Berlin"), [14, 3, 15, 196, 7, 29, 2026]);
    }

    #[test]
    fn the_iso_week_of_new_year_may_belong_to_the_year_before() {
        check("2027-01-01T00:00:00Z", None, [0, 5, 1, 1, 1, 53, 2027]);
        check("1969-12-31T23:59:59.999999Z", None, [23, 3, 31, 365, 12, 1, 1969]);
    }

    #[test]
    fn every_instant_has_an_answer_or_none_but_never_a_panic() {
        let tokyo = ZoneData::built_in().zone("Asia/Tokyo").unwrap();
        for micros in [i64::MIN, i64::MAX] {
            assert!(part(TimeFunction::Year, micros, Some(&tokyo)).is_nan());
        }
        check("0000-01-01T00:00:00Z", Some("America/New_York"), [19, 5, 31, 365, 12, 52, -1]);
        check("9999-12-31T23:59:59Z", Some("Asia/Tokyo"), [8, 6, 1, 1, 1, 52, 10_000]);
    }

    #[test]
    fn only_metadata_holds_times_as_texts() {
        let text = Value::Text("2026-01-02T03:04:05Z");
        let spec = |field| TimeSpec {
            function: TimeFunction::HourOfDay,
            field: FieldPath::parse(field),
            current: false,
            zone: None,
        };
        let part = |field| TimePart::bind(&spec(field), &ZoneData::built_in(), Semantics::CURRENT).unwrap();
        assert_eq!(part("metadata.at").number_of(text), 3.0);
        assert!(part("reference").number_of(text).is_nan());
        assert!(part("metadata.at").number_of(Value::Text("yesterday")).is_nan());
        assert!(part("metadata.at").number_of(Value::Missing).is_nan());
    }

    #[test]
    fn an_unknown_zone_is_named() {
        let error = ZoneData::built_in().zone("Mars/Olympus").unwrap_err();
        assert_eq!(error.to_string(), "unknown time zone `Mars/Olympus`");
    }
}
