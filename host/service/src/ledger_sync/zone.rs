//! Times without a time zone that were written in another one than UTC.
//!
//! A row that was just written lies as far ahead of the database's clock as the zone it was written in lies ahead of UTC, less the
//! moments until it was read. So only rows that are new say something, and only where that far is a whole number of hours, or half of
//! one as in some zones.

/// Zones lie ahead of UTC by multiples of this, with few exceptions.
const STEP_MICROS: i64 = 30 * 60 * 1_000_000;
/// No zone lies further ahead.
const MOST_MICROS: i64 = 14 * 60 * 60 * 1_000_000;
/// A new row is read within this.
const LAG_MICROS: i64 = 2 * 60 * 1_000_000;
/// The database's clock was asked before the rows were.
const EARLY_MICROS: i64 = 30 * 1_000_000;

/// By how many minutes the zone of these times seems to lie ahead of UTC, where the newest of them lies so far ahead of the clock, both in
/// microseconds; `None` when it lies anywhere else.
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
