//! Detects times without a time zone that were not written in UTC.
//!
//! A new row is ahead of the database's clock by the offset of its zone from UTC, less the delay until it was read.
//! Only new rows are evidence, and only if the offset is a multiple of half an hour.

/// Step between zone offsets, with few exceptions.
const STEP_MICROS: i64 = 30 * 60 * 1_000_000;
/// The largest offset of any zone.
const MOST_MICROS: i64 = 14 * 60 * 60 * 1_000_000;
/// Maximum delay until a new row is read.
const LAG_MICROS: i64 = 2 * 60 * 1_000_000;
/// Tolerance, because the database's clock was read before the rows.
const EARLY_MICROS: i64 = 30 * 1_000_000;

/// Returns the likely zone offset in minutes, from the newest time and the clock, both in microseconds. Returns `None`
/// if the difference suggests no zone ahead of UTC.
pub(super) fn minutes_ahead(newest: i64, clock: i64) -> Option<i64> {
    let ahead = newest.saturating_sub(clock);
    let zone = ahead.saturating_add(LAG_MICROS).div_euclid(STEP_MICROS).saturating_mul(STEP_MICROS);
    let is_close = (-LAG_MICROS..=EARLY_MICROS).contains(&ahead.saturating_sub(zone));
    (is_close && (STEP_MICROS..=MOST_MICROS).contains(&zone)).then_some(zone / 60_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_rows_that_lie_ahead_by_hours_are_of_another_zone() {
        let minute = 60_000_000;
        for (ahead, expected) in [
            (120 * minute, Some(120)),
            (119 * minute, Some(120)),
            (120 * minute + 5_000_000, Some(120)),
            (330 * minute - 1, Some(330)),
            (14 * 60 * minute, Some(840)),
            (15 * 60 * minute, None),
            (110 * minute, None),
            (125 * minute, None),
            (0, None),
            (-minute, None),
            (-60 * minute, None),
            (minute, None),
            (i64::MAX, None),
        ] {
            assert_eq!(minutes_ahead(ahead, 0), expected, "{ahead}");
        }
    }
}
