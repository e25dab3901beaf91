//! Rows are read as they were written, in order.

use proptest::prelude::*;

use super::*;

fn row(micros: i64, sequence: u64, amount: &str, code: u8) -> EncodedRow {
    let amount = Decimal::from_plain(amount).unwrap();
    EncodedRow { micros, sequence: Sequence(sequence), amount, codes: [code].into_iter().collect() }
}

/// Checks rows inserted one by one in this order, and written all at once.
#[track_caller]
fn check(rows: &[EncodedRow]) {
    let mut one_by_one = Vec::new();
    rows.iter().for_each(|row| insert(&mut one_by_one, row));
    let mut sorted = rows.to_vec();
    sorted.sort_by_key(|row| (row.micros, row.sequence));
    let mut at_once = Vec::new();
    write(&mut at_once, &sorted);
    for bytes in [one_by_one, at_once] {
        let read = Rows::of(&bytes);
        assert_eq!(read.n_bytes(), bytes.len());
        let key = |row: &EncodedRow| (row.micros, row.sequence, row.amount, row.codes.clone());
        let all: Vec<_> = (0..read.len()).map(|at| key(&read.row(at))).collect();
        assert_eq!(all, sorted.iter().map(key).collect::<Vec<_>>());
        let numbers = rows.iter().map(|row| row.sequence);
        assert_eq!(
            (Some(read.sequence_min()), Some(read.sequence_max())),
            (numbers.clone().min(), numbers.max())
        );
        if let Some(scale) = read.scale() {
            let total = |rows: &[EncodedRow]| {
                rows.iter().map(|row| i128::from(row.amount.units(scale).unwrap())).sum::<i128>()
            };
            let (n_rows, half) = (read.len(), read.len() / 2);
            for range in [0..n_rows, 0..half, half..n_rows, n_rows / 3..n_rows, half / 2..n_rows - half / 3] {
                assert_eq!(read.total_units(range.clone()), total(&sorted[range]));
            }
            for from in sorted.iter().flat_map(|row| [row.micros, row.micros.saturating_add(1)]) {
                let since = &sorted[sorted.partition_point(|row| row.micros < from)..];
                if let Some(found) = read.total_since(from) {
                    assert_eq!(found, (since.len() as u64, total(since)));
                }
            }
        }
    }
}

#[test]
fn extremes_come_back() {
    check(&[
        row(i64::MIN, 1, "9223372036854775807", 1),
        row(i64::MAX, 9_007_199_254_740_993, "-9223372036854775808", 2),
    ]);
    check(&[row(0, 1, "0.00000000000000000000000000000000000001", 1), row(0, 2, "1", 1)]);
    check(&[row(0, 3, "99999999999999999999999999999999999999", 1), row(-1, u64::MAX, "-0.5", 255)]);
    check(&[row(5, 3, "1.50", 0)]);
    check(&[row(5, 0, "36028797018963967", 0), row(6, 1, "-36028797018963968", 0), row(7, 2, "0", 0)]);
}

#[test]
fn a_full_chunk_of_a_cold_key_takes_at_most_twelve_bytes_an_entry() {
    let mut bytes = Vec::new();
    for n in 0..128_i64 {
        let (micros, cents) = (n * 4_725_000_123 + n * n % 977, (n * 7_919_993) % 2_500_000);
        let amount = Decimal::of_units(cents, 2);
        insert(
            &mut bytes,
            &EncodedRow { micros, sequence: Sequence((n * 78_125) as u64), amount, codes: SmallVec::new() },
        );
    }
    let n_bytes = Rows::of(&bytes).n_bytes();
    assert!(n_bytes <= 12 * 128, "{n_bytes}");
    assert!(bytes.capacity() <= n_bytes + n_bytes / 8 + 24, "{}", bytes.capacity());
}

proptest! {
    #[test]
    fn encoded_rows_are_decoded_unchanged(
        rows in prop::collection::vec((any::<i32>(), 0_u64..1 << 40, any::<i64>(), 0_u8..6, any::<u8>(), 0..64_u32), 1..128),
        unit in prop::sample::select(vec![1_i64, 1_000, 1_000_000, 7]),
    ) {
        let mut places = std::collections::HashSet::new();
        let rows: Vec<EncodedRow> = rows
            .into_iter()
            .map(|(at, sequence, units, scale, code, shift)| EncodedRow {
                micros: i64::from(at) * unit,
                sequence: Sequence(sequence),
                amount: Decimal::of_units(units >> shift, scale),
                codes: [code].into_iter().collect(),
            })
            .filter(|row| places.insert((row.micros, row.sequence)))
            .collect();
        check(&rows);
    }
}
