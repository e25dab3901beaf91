//! Parts of a date-time.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::FieldPath;

/// A part of a date-time field, in a time zone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeSpec {
    /// The part.
    pub function: TimeFunction,
    /// A date-time field, or a metadata text in RFC 3339; any other value is missing.
    pub field: FieldPath,
    /// In a filter: whether the field is read from the transaction under evaluation instead of the historical one.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub current: bool,
    /// An IANA time zone; `None` means UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// A part of a date-time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeFunction {
    /// 0 to 23
    HourOfDay,
    /// 0 (Sunday) to 6 (Saturday)
    DayOfWeek,
    /// 1 to 31
    DayOfMonth,
    /// 1 to 366
    DayOfYear,
    /// 1 to 12
    MonthOfYear,
    /// The ISO week, 1 to 53
    WeekOfYear,
    /// The calendar year
    Year,
}

impl TimeFunction {
    /// Every function.
    pub const ALL: [TimeFunction; 7] = [
        TimeFunction::HourOfDay,
        TimeFunction::DayOfWeek,
        TimeFunction::DayOfMonth,
        TimeFunction::DayOfYear,
        TimeFunction::MonthOfYear,
        TimeFunction::WeekOfYear,
        TimeFunction::Year,
    ];

    /// Returns the name used in scripts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            TimeFunction::HourOfDay => "hour_of_day",
            TimeFunction::DayOfWeek => "day_of_week",
            TimeFunction::DayOfMonth => "day_of_month",
            TimeFunction::DayOfYear => "day_of_year",
            TimeFunction::MonthOfYear => "month_of_year",
            TimeFunction::WeekOfYear => "week_of_year",
            TimeFunction::Year => "year",
        }
    }
}
