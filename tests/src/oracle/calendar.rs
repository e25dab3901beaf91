//! Points in time, and what clocks of a zone show at them.

use chrono::{DateTime, Datelike, Timelike, Utc};
use chrono_tz::Tz;
use num_bigint::BigInt;
use num_rational::BigRational;
use tollgate_guest_abi::{FieldType, TimeFunction, TimeSpec};

use super::value::Value;

/// The instant an RFC 3339 text names, in microseconds since 1970 UTC; finer digits do not count.
pub(super) fn instant(text: &str) -> Option<i64> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    Some(time.timestamp() * 1_000_000 + i64::from(time.timestamp_subsec_micros()))
}

/// The part of a date-time field, or of a metadata text in RFC 3339; nil for anything else.
pub(super) fn part<'a>(spec: &TimeSpec, value: Value<'a>) -> Value<'a> {
    let micros = match value {
        Value::Time(micros, _) => Some(micros),
        Value::Text(text) if spec.field.field_type() == FieldType::Dynamic => instant(text),
        _ => None,
    };
    let zone: Option<Tz> = spec.zone.as_deref().map_or(Some(Tz::UTC), |name| name.parse().ok());
    let (Some(micros), Some(zone)) = (micros, zone) else { return Value::Nil };
    let utc = DateTime::<Utc>::UNIX_EPOCH + chrono::Duration::microseconds(micros);
    let local = utc.with_timezone(&zone);
    let part: i64 = match spec.function {
        TimeFunction::HourOfDay => local.hour().into(),
        TimeFunction::DayOfWeek => (local.weekday().number_from_monday() % 7).into(),
        TimeFunction::DayOfMonth => local.day().into(),
        TimeFunction::DayOfYear => local.ordinal().into(),
        TimeFunction::MonthOfYear => local.month().into(),
        TimeFunction::WeekOfYear => local.iso_week().week().into(),
        TimeFunction::Year => local.year().into(),
    };
    Value::exact(BigRational::from(BigInt::from(part)))
}
